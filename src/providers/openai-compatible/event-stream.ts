import type { ChatStream, ChunkIdentity, EventSink, StreamEnd } from '../../core/chat/chat.ts'
import { ProviderFailure } from '../../core/failure.ts'
import type { Usage } from '../../core/price.ts'
import type { UpstreamLimits } from '../transport/endpoint.ts'
import type { OpenAnswer } from '../transport/upstream.ts'
import {
  dataOf,
  endOfEvent,
  endOfEvents,
  pausingWriter,
  startEvents,
  wholeEvents,
  type EventSource,
} from '../wire/event-source.ts'
import type { ChatDialect } from './dialect.ts'
import { bodyFailure } from './failure.ts'
import { rewriteChunk, usageIn, type Chunk } from './rewrite-chunk.ts'
import { readUsage, servedTier, type ReadCost } from './usage.ts'

const usageKey = searched('usage')
const errorKey = searched('error')
const tierKey = searched('service_tier')
const dataKey = Buffer.from('data:')
const doneMark = Buffer.from('[DONE]')
const finishReason = /"finish_reason":\s*"/

/**
 * Forwards an OpenAI-shaped event stream verbatim. Only an event that counts tokens, reports an
 * error, ends the stream or needs rewriting is parsed: to parse every event would triple the cost
 * of a burst (docs/performance.md#event-streams).
 * Resolves at the first event that is not a comment. Throws a ProviderFailure when there is none,
 * or when it is an error.
 */
export async function startStream(
  answer: OpenAnswer,
  limits: StreamLimits,
  { finishReasons = {}, ownThoughts = [], usageMember, readCost }: ChatDialect,
): Promise<ChatStream> {
  let begun = false
  const reader = wholeEvents(limits.answerBytesMax, (events) => {
    if (begun) return events
    if (!events.includes(dataKey)) return undefined
    begun = true
    const failure = indexOfKey(events, errorKey) >= 0 ? bodyFailure(firstChunk(events)) : undefined
    if (failure !== undefined) throw failure
    return events
  })
  const source = await startEvents(answer, reader)
  const reasons = Object.keys(finishReasons).map((reason) => `"${reason}"`)
  const marks = [...reasons, ...ownThoughts].map((text) => Buffer.from(text))
  const state: State = { over: false }
  return {
    forward: (sink) =>
      forward({ source, sink, state, marks, finishReasons, usageMember, readCost, limits }),
    usageSoFar: () => state.usage,
  }
}

type StreamLimits = Pick<UpstreamLimits, 'answerBytesMax' | 'endTimeoutMs'>
type State = {
  usage?: Usage
  identity?: ChunkIdentity
  /** The tier that was served, of the events that are parsed anyway. */
  tier?: unknown
  failure?: ProviderFailure
  /** Whether `[DONE]` or an error has arrived. */
  over: boolean
}
type Passage = {
  source: EventSource
  sink: EventSink
  state: State
  /** Texts that occur in events which must be rewritten. */
  marks: readonly Buffer[]
  finishReasons: Readonly<Record<string, string>>
  usageMember: string | undefined
  readCost: ReadCost | undefined
  limits: StreamLimits
}

async function forward(passage: Passage): Promise<StreamEnd> {
  const { source, sink, state, marks, finishReasons, usageMember, readCost, limits } = passage
  const { answer, listen, ended } = source
  const writer = pausingWriter(answer, sink)
  const told = Promise.withResolvers<void>()
  let first: Buffer | undefined
  let last: Buffer | undefined

  const write = (events: Buffer) => {
    last = events
    writer.write(events)
  }
  const finish = () => {
    state.over = true
    told.resolve()
  }
  const readEvent = (event: Buffer) => {
    const data = dataOf(event)
    if (data === undefined) return
    if (data === '[DONE]') {
      // Some upstreams keep the connection open after it.
      answer.endWithin(limits.endTimeoutMs)
      return finish()
    }
    const chunk = parse(data)
    state.identity ??= identityIn(chunk)
    const failure = bodyFailure(chunk)
    if (failure !== undefined) {
      state.failure = failure
      answer.abort(failure)
      return finish()
    }
    if (chunk === undefined) return
    state.usage = readUsage(usageIn(chunk, usageMember), readCost) ?? state.usage
    state.tier = chunk.service_tier ?? state.tier
    const rewritten = rewriteChunk(chunk, finishReasons)
    if (rewritten !== undefined) write(rewritten === chunk ? event : eventOf(rewritten))
  }

  listen((events) => {
    if (state.over) return
    first ??= events
    for (let rest = events; rest.length > 0 && !state.over;) {
      const special = findSpecial(rest, marks)
      if (special === undefined) return write(rest)
      if (special.start > 0) write(rest.subarray(0, special.start))
      readEvent(rest.subarray(special.start, special.end))
      rest = rest.subarray(special.end)
    }
  })
  if (!writer.paused()) answer.resume()
  ended.then(told.resolve, told.reject)
  await told.promise
  if (state.failure !== undefined) throw state.failure
  if (!state.over && state.usage === undefined && !finishReason.test(String(last))) {
    throw new ProviderFailure('unreachable', 'The provider broke the stream off.')
  }
  const identity = state.identity ?? identityOf(first) ?? identityOf(last)
  const usage = withTier(state, first)
  return { usage, identity: identity ?? { id: '', created: 0, model: '' } }
}

/** The counts with the tier; most vendors that tell it do so in every event. */
function withTier({ usage, tier }: State, first: Buffer | undefined): Usage | undefined {
  if (usage === undefined) return undefined
  const isInFirst = tier === undefined && first !== undefined && indexOfKey(first, tierKey) >= 0
  return { ...usage, ...servedTier(isInFirst ? firstChunk(first)?.service_tier : tier) }
}

function eventOf(chunk: Chunk): Buffer {
  return Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`)
}

/** The first event that must be parsed; everything before it is forwarded verbatim. */
function findSpecial(
  events: Buffer,
  marks: readonly Buffer[],
): { start: number; end: number } | undefined {
  // Each search covers only the bytes before the previous match.
  let before = upTo(events, indexOfUsage(events))
  before = upTo(before, before.indexOf(doneMark))
  before = upTo(before, indexOfKey(before, errorKey))
  for (const mark of marks) before = upTo(before, before.indexOf(mark))
  const at = before.length
  if (at === events.length) return undefined
  return { start: endOfEvents(before), end: endOfEvent(events, at) }
}

function upTo(events: Buffer, index: number): Buffer {
  return index < 0 ? events : events.subarray(0, index)
}

/** Where counts begin, or -1; some upstreams send `"usage": null` in every chunk. */
function indexOfUsage(events: Buffer): number {
  for (let at = indexOfKey(events, usageKey); at >= 0; at = indexOfKey(events, usageKey, at + 1)) {
    let next = at + usageKey.text.length
    while (events[next] === 0x3a || events[next] === 0x20) next++
    if (events[next] === 0x7b) return at
  }
  return -1
}

type SearchedKey = { text: Buffer; tail: Buffer }

function searched(name: string): SearchedKey {
  const text = Buffer.from(`"${name}"`)
  return { text, tail: text.subarray(2) }
}

/**
 * Where a key begins, or -1. Searches without the quote and first letter, since a search that stops
 * at every quote takes ten times as long.
 */
function indexOfKey(events: Buffer, { text, tail }: SearchedKey, from = 0): number {
  for (let at = events.indexOf(tail, from + 2); at >= 0; at = events.indexOf(tail, at + 1)) {
    if (events[at - 1] === text[1] && events[at - 2] === text[0]) return at - 2
  }
  return -1
}

/** The first chunk in `events`, after any comments. */
function firstChunk(events: Buffer): Chunk | undefined {
  for (let start = 0; start < events.length;) {
    const end = endOfEvent(events, start)
    const data = dataOf(events.subarray(start, end))
    if (data !== undefined && data !== '') return parse(data)
    start = end
  }
  return undefined
}

function identityOf(events: Buffer | undefined): ChunkIdentity | undefined {
  return events === undefined ? undefined : identityIn(firstChunk(events))
}

function identityIn(chunk: Chunk | undefined): ChunkIdentity | undefined {
  const { id, created = 0, model = '' } = chunk ?? {}
  return typeof id === 'string' ? { id, created, model } : undefined
}

function parse(data: string): Chunk | undefined {
  try {
    // Not validated: every member is optional, and a wrong shape fails the stream.
    return JSON.parse(data) as Chunk
  } catch {
    return undefined
  }
}
