import { readFileSync } from 'node:fs'
import { startUpstream, type ReceivedRequest, type ScriptedAnswer } from '../upstream.ts'
import { paint, type Painting } from './paint.ts'

/** Behaviour of a vendor: refuses invalid requests, and paints for valid ones. */
export type VendorDouble = {
  refusal(request: ReceivedRequest): ScriptedAnswer | undefined
  answer(request: ReceivedRequest, host: PictureHost): AsyncIterable<string> | string
  /** Answers a request about a task; undefined for another request. */
  task?(request: ReceivedRequest, tasks: Tasks): ScriptedAnswer | undefined
}
/** A task of a vendor: it is done after `pollsLeft` more polls. */
export type Task = {
  urls: readonly string[]
  pollsLeft: number
  state: 'waiting' | 'running' | 'done' | 'failed' | 'cancelled'
}
export type Tasks = ReadonlyMap<string, Task>
export type PictureHost = {
  /** Stores a picture, and returns its URL. */
  keep(painting: Painting): string
  base64(painting: Painting): Promise<string>
  /** Begins a task that makes these pictures; returns its id. */
  begin(urls: readonly string[]): string
  /** Number of earlier calls. */
  serial: number
}

/** A vendor's API on loopback that refuses everything that the vendor refuses. */
export type ImageDouble = {
  url: string
  /** Received calls. */
  calls: ReceivedRequest[]
  /** Requests for pictures by URL. */
  fetches: ReceivedRequest[]
  /** Requests about tasks. */
  polls: ReceivedRequest[]
  tasks: Tasks
  /** Tasks are done after this number of polls, 0 by default. */
  workFor(polls: number): void
  /** Sets the answers to requests about tasks; `paint` answers with the state. */
  playPolls(...answers: (ScriptedAnswer | 'paint')[]): void
  /** Answers the next valid calls with the given answers; `paint` answers with a picture. */
  play(...answers: (ScriptedAnswer | 'paint')[]): void
  /** Sets the answers to requests for pictures by URL. */
  playFetches(...answers: (ScriptedAnswer | 'paint')[]): void
  /** Sets the origin in the URLs of pictures; undefined restores the double's own. */
  hostPicturesAt(origin: string | undefined): void
  /** Delays answers. */
  delayBy(delayMs: (request: ReceivedRequest) => number): void
  picture(path: string): Painting | undefined
  /** Removes scripted answers, and forgets received calls. */
  reset(): void
  stop(): Promise<void>
}

/** Starts a vendor's double on a free port. */
export async function startImageDouble(vendor: VendorDouble): Promise<ImageDouble> {
  const upstream = await startUpstream()
  const calls: ReceivedRequest[] = []
  const fetches: ReceivedRequest[] = []
  const polls: ReceivedRequest[] = []
  const tasks = new Map<string, Task>()
  const pictures = new Map<string, Painting>()
  const scriptedPolls: (ScriptedAnswer | 'paint')[] = []
  let pollsOfTask = 0
  const scripted: (ScriptedAnswer | 'paint')[] = []
  const scriptedFetches: (ScriptedAnswer | 'paint')[] = []
  let origin = upstream.url
  let delayMs: (request: ReceivedRequest) => number = () => 0

  const answerFetch = (request: ReceivedRequest): ScriptedAnswer => {
    fetches.push(request)
    const script = scriptedFetches.length > 1 ? scriptedFetches.shift() : scriptedFetches[0]
    if (script !== undefined && script !== 'paint') return script
    const painting = pictures.get(request.path)
    if (painting === undefined)
      return { status: 404, body: '<Error><Code>NoSuchKey</Code></Error>' }
    const { format } = painting
    const headers = { 'content-type': `image/${format === 'svg' ? 'svg+xml' : format}` }
    return { headers, pieces: painted(painting) }
  }
  const begin = (urls: readonly string[]) => {
    const id = `task-${tasks.size}-${'0123456789abcdef'.repeat(2)}`
    tasks.set(id, { urls, pollsLeft: pollsOfTask, state: 'waiting' })
    return id
  }
  const answerTask = (request: ReceivedRequest): ScriptedAnswer | undefined => {
    const [, id = ''] = /(task-[\w-]+)/.exec(request.path) ?? []
    const task = tasks.get(id)
    const isWorkedOn = task?.state === 'waiting' || task?.state === 'running'
    if (isWorkedOn && request.method === 'GET')
      task.state = task.pollsLeft-- > 0 ? 'running' : 'done'
    const answer = vendor.task?.(request, tasks)
    if (answer === undefined) return undefined
    polls.push(request)
    const script = scriptedPolls.shift()
    return script === undefined || script === 'paint' ? answer : script
  }
  const answerCall = (request: ReceivedRequest): ScriptedAnswer => {
    const ofTask = answerTask(request)
    if (ofTask !== undefined) return ofTask
    const serial = calls.push(request) - 1
    const refusal = vendor.refusal(request)
    if (refusal !== undefined) return refusal
    const script = scripted.shift()
    if (script !== undefined && script !== 'paint') return script
    const keep = (painting: Painting) => {
      const path = `/pictures/${pictures.size}.${painting.format}?Expires=1763640000&Signature=a%2Fb`
      pictures.set(path, painting)
      return origin + path
    }
    const base64 = async (painting: Painting) => (await paint(painting)).toString('base64')
    const text = vendor.answer(request, { keep, base64, begin, serial })
    const { stream } = (request.body ?? {}) as { stream?: boolean }
    const headers = { 'content-type': stream === true ? 'text/event-stream' : 'application/json' }
    const pieces = typeof text === 'string' ? [text] : text
    return { headers, pieces, delayMs: delayMs(request) }
  }
  upstream.answer((request) =>
    request.path.startsWith('/pictures/') ? answerFetch(request) : answerCall(request),
  )
  return {
    url: upstream.url,
    calls,
    fetches,
    polls,
    tasks,
    workFor: (count) => {
      pollsOfTask = count
    },
    playPolls: (...answers) => void scriptedPolls.push(...answers),
    play: (...answers) => void scripted.push(...answers),
    playFetches: (...answers) => void scriptedFetches.push(...answers),
    hostPicturesAt: (other) => {
      origin = other ?? upstream.url
    },
    delayBy: (wait) => {
      delayMs = wait
    },
    picture: (path) => pictures.get(path),
    reset: () => {
      const lists = [calls, fetches, polls, scripted, scriptedFetches, scriptedPolls]
      for (const list of lists) list.length = 0
      pollsOfTask = 0
      origin = upstream.url
      delayMs = () => 0
    },
    stop: () => upstream.stop(),
  }
}

async function* painted(painting: Painting): AsyncIterable<Buffer> {
  yield await paint(painting)
}

/** An answer recorded from a vendor. */
export function fixture(name: string): ScriptedAnswer {
  const file = new URL(`./fixtures/${name}.json`, import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')) as ScriptedAnswer
}

/** Names of members that are not in the list. */
export function unknownMembers(value: unknown, known: readonly string[]): string[] {
  return Object.keys(value ?? {}).filter((name) => !known.includes(name))
}

const magics = { png: '89504e47', jpeg: 'ffd8ff', webp: '52494646' }
const heicMagic = /^.{4}ftyp(?:hei[cx]|hev[cx]|mif1|msf1)/s

/** Whether a text is canonical base64 of a picture of this media type, which may be HEIC or HEIF. */
export function isPictureOrHeic(mediaType: string, base64: string): boolean {
  if (!/^image\/hei[cf]$/.test(mediaType)) return isPicture(mediaType, base64)
  const bytes = Buffer.from(base64, 'base64')
  return bytes.toString('base64') === base64 && heicMagic.test(bytes.toString('latin1'))
}

/** Whether a text is canonical base64 of a picture of this media type. */
export function isPicture(mediaType: string, base64: string): boolean {
  const format = mediaType.replace('image/', '') as PictureName
  const bytes = Buffer.from(base64, 'base64')
  if (!(format in magics) || bytes.toString('base64') !== base64) return false
  return bytes.toString('hex', 0, 4).startsWith(magics[format])
}
type PictureName = keyof typeof magics

/** Whether a text is a data URL of a picture that vendors accept. */
export function isPictureUrl(text: unknown, bytesMax = 50_000_000): boolean {
  const found = typeof text === 'string' ? /^data:(image\/[a-z]+);base64,(.*)$/.exec(text) : null
  if (found === null || Buffer.byteLength(found[2]!, 'base64') > bytesMax) return false
  return isPicture(found[1]!, found[2]!)
}
