import { hash } from 'node:crypto'
import { jsonObject } from '../../core/any-json.ts'
import type { Interaction } from '../../core/cassette.ts'
import { ProviderFailure } from '../../core/failure.ts'
import { isEnough } from './answer-failure.ts'
import type { Dispatch, Receiver, UpstreamBody, UpstreamRequest } from './dispatch.ts'
import { openLine } from './open-line.ts'

type RecordedResponse = Interaction['response']

type Options = {
  providerId: string
  /** The address of the provider here. */
  baseUrl: string
  /** Its address in cassettes: the same in each gateway. */
  recordedUrl: string
  /** Removes the keys of providers from a text. */
  withoutKeys: (text: string) => string
}

/** Passes requests of a call with a cassette to it: they are recorded when they have been sent, or replayed instead. */
export type ThroughCassette = (dispatch: Dispatch) => Dispatch

/** Wraps the connections to one provider. */
export function throughCassette({
  providerId: provider,
  withoutKeys,
  ...addresses
}: Options): ThroughCassette {
  const [origin, recordedOrigin] = [addresses.baseUrl, addresses.recordedUrl].map(
    (address) => new URL(address).origin,
  )
  const clean = (text: string) =>
    withoutSignatures(withoutKeys(text)).replaceAll(origin!, recordedOrigin!)
  return (dispatch) => (request, receiver) => {
    const { cassette } = request
    if (cassette === undefined) return dispatch(request, receiver)
    const { method, path, atOrigin, otherOrigin = atOrigin ? recordedOrigin! : '' } = request
    const body = bodyOf(request, clean)
    const recorded = {
      provider,
      model: cassette.model,
      request: { method, path: clean(otherOrigin + path), ...(body && { body }) },
    }
    if (cassette.plays) return play(cassette.play(recorded).response, receiver)
    const keep = (response: RecordedResponse | undefined) =>
      cassette.keep(response && { ...recorded, response })
    dispatch(request, recording({ keep, clean, bytesMax: cassette.bytesMax }, receiver))
  }
}

type Recording = {
  keep: (response: RecordedResponse | undefined) => Promise<void>
  clean: (text: string) => string
  bytesMax: number
}

/** Passes an answer on; it is stored before it ends. */
function recording({ keep, clean, bytesMax }: Recording, receiver: Receiver): Receiver {
  const pieces: Buffer[] = []
  let bytes = 0
  let wasSent = false
  let head: Pick<RecordedResponse, 'status' | 'headers'> = {}
  const response = () =>
    bytes > bytesMax ? undefined : { ...head, ...readBody(Buffer.concat(pieces), head, clean) }
  const endWith = async (kept: RecordedResponse | undefined, end: () => void) => {
    await keep(kept)
    end()
  }
  return {
    ...receiver,
    sent: () => {
      wasSent = true
      receiver.sent?.()
    },
    head: (status, headers) => {
      head = { status, headers: keptHeaders(headers) }
      receiver.head(status, headers)
    },
    data: (piece) => {
      bytes += piece.length
      if (bytes <= bytesMax) pieces.push(piece)
      receiver.data(piece)
    },
    end: () => void endWith(response(), receiver.end),
    error: (error) => {
      const failed = () => receiver.error(error)
      if (isEnough(error)) return void endWith(response(), failed)
      const code = codeOf(error)
      // An answer that the gateway itself has aborted says nothing about the vendor.
      if (code === undefined) return failed()
      const failure = { code, was_sent: wasSent }
      void endWith({ ...response(), failure }, failed)
    },
  }
}

/** The code of an error of the connection; undefined for the reason of an abort. */
function codeOf(error: Error): string | undefined {
  if (error instanceof ProviderFailure) return undefined
  const code = 'code' in error ? error.code : undefined
  return typeof code === 'string' && code !== 'UND_ERR_ABORTED' ? code : undefined
}

/** Answers as the vendor did, without its pauses. */
function play(response: RecordedResponse, receiver: Receiver): void {
  const { status, headers = {}, failure } = response
  const line = openLine(receiver)
  const answer = async () => {
    await line.send('')
    if (failure?.was_sent !== false) receiver.sent?.()
    if (status !== undefined) line.head(status, headers)
    for (const piece of piecesOf(response)) await line.send(piece)
    if (failure === undefined) line.end()
    else line.cut(Object.assign(new Error('Recorded failure.'), { code: failure.code }))
  }
  answer().catch(line.cut)
}

function piecesOf({ json, events, text, base64 }: RecordedResponse): readonly (string | Buffer)[] {
  if (json !== undefined) return [JSON.stringify(json)]
  if (base64 !== undefined) return [Buffer.from(base64, 'base64')]
  return events?.map((event) => `${event}\n\n`) ?? (text === undefined ? [] : [text])
}

/** Headers that adapters read, or that say what an answer is; others may have secrets. */
const keptNames =
  /^(?:content-type|date|retry-after(?:-ms)?|(?:x-)?request-id|x-[a-z]+-(?:billable-units|retryable))$/

function keptHeaders(headers: Parameters<Receiver['head']>[1]): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => keptNames.test(name))
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]))
}

function readBody(
  bytes: Buffer,
  { headers }: Pick<RecordedResponse, 'headers'>,
  clean: Recording['clean'],
): Pick<RecordedResponse, 'json' | 'events' | 'text' | 'base64'> {
  if (bytes.length === 0) return {}
  const all = bytes.toString()
  if (!Buffer.from(all).equals(bytes)) return { base64: bytes.toString('base64') }
  const text = clean(all)
  const isStream = headers?.['content-type']?.startsWith('text/event-stream') === true
  if (isStream && text.endsWith('\n\n') && !text.includes('\r'))
    return { events: text.slice(0, -2).split('\n\n') }
  const json = jsonObject(text)
  // Another number than in the text would be another answer.
  const isSame = json !== undefined && skeletonOf(text) === skeletonOf(JSON.stringify(json))
  return isSame ? { json } : { text }
}

/** A JSON text without its strings and spaces. */
function skeletonOf(text: string): string {
  return text.replaceAll(/"[^"\\]*(?:\\.[^"\\]*)*"|\s+/gs, '')
}

/** The parts of a query that give access, in the forms of the object stores. */
const signature =
  /(?:^|[?&]|\\u0026)(?:x-(?:amz|goog|oss|cos|tos|bce)-[\w-]+|sig(?:nature)?|token|q-signature|ossaccesskeyid|awsaccesskeyid|googleaccessid|key-pair-id|policy|expires)=/i
const query = /(?<=https?:[^\s"'<>?]{1,4096})\?[^\s"'<>)#]*/gi

/** A text whose signed URLs have no query. */
function withoutSignatures(text: string): string {
  if (!text.includes('?')) return text
  return text.replaceAll(query, (found) => (signature.test(found) ? '' : found))
}

function bodyOf({ body, headers }: UpstreamRequest, clean: Recording['clean']) {
  if (body === undefined) return undefined
  const boundary = /boundary=([\w-]+)/.exec(headers['content-type'] ?? '')?.[1]
  if (boundary !== undefined) return { form: fieldsOf(bytesOf(body), boundary) }
  const text = clean(bytesOf(body).toString())
  const json = jsonObject(text)
  return json === undefined ? { text } : (withDigests(json) as Record<string, unknown>)
}

function bytesOf(body: UpstreamBody): Buffer {
  if (typeof body === 'string') return Buffer.from(body)
  return Buffer.concat(
    body.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)),
  )
}

/** Shorter texts are no pictures. */
const base64CharactersMin = 512
const base64 = /^(data:[\w/+.;=-]{0,100},)?[A-Za-z0-9+/_-]+={0,2}$/

/** A JSON value whose long base64 is replaced by its digest. */
function withDigests(value: unknown): unknown {
  if (typeof value === 'string') {
    if (value.length < base64CharactersMin || !base64.test(value)) return value
    return `sha256:${hash('sha256', value)}`
  }
  if (Array.isArray(value)) return value.map(withDigests)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withDigests(one)]))
}

/** The fields of a form (RFC 7578) in order, without its boundary; files have their digest. */
function fieldsOf(bytes: Buffer, boundary: string): object[] {
  // Latin-1 keeps each byte.
  const parts = bytes.toString('latin1').split(`--${boundary}`).slice(1, -1)
  return parts.map((part) => {
    const at = part.indexOf('\r\n\r\n')
    const [head, content] = [part.slice(0, at), Buffer.from(part.slice(at + 4, -2), 'latin1')]
    const name = /name="([^"]*)"/.exec(head)?.[1] ?? ''
    const file = /filename="([^"]*)"/.exec(head)?.[1]
    return file === undefined
      ? { name, value: content.toString() }
      : { name, file, value: `sha256:${hash('sha256', content)}` }
  })
}
