import { joinPieces } from '../../bytes/pieces.ts'
import type { ChatRequest, ChunkIdentity } from '../../core/chat/chat.ts'
import type { ProviderFailure } from '../../core/failure.ts'
import type { Usage } from '../../core/money/price.ts'
import { endOfEvent, eventOf, fieldsOf, wholeEvents } from '../wire/event-source.ts'
import { type TokensMax, withTier } from '../wire/token-count.ts'
import { toFailure, type StreamReader } from '../wire/forwarded-stream.ts'
import { brokenOff, parseEvent } from '../wire/translated-stream.ts'
import { membersOf } from '../../core/any-json.ts'
import type { ChatDialect } from './dialect.ts'
import { endOfForm, formOf, Output, rewrite, type EventForm } from './event-form.ts'
import { bodyFailure, eventFailure, type ErrorReading } from './failure.ts'
import { readMembers } from './members.ts'
import { createChunkRepair, type ChunkRepair } from './repair-chunk.ts'
import { readUsage, usageIn } from './usage.ts'

/** What reading an answer needs besides its bytes. */
export type Reading = {
  request: ChatRequest
  dialect: ChatDialect
  reading: ErrorReading
  /** Date and model for answers that do not state them. */
  fallback: Omit<ChunkIdentity, 'id'>
  tokensMax: TokensMax
  eventBytesMax: number
}
/**
 * Reads an event and returns its forwarded version, which is the same buffer if nothing changes.
 * Throws a ProviderFailure.
 */
type ReadEvent = (event: Buffer) => Buffer | undefined

/** Limits the cached forms: text, thoughts and calls have one form each per choice. */
const formsMax = 6

/**
 * Reads an OpenAI-shaped event stream. Unchanged events are forwarded as the bytes that arrived,
 * and are not parsed if an earlier event had the same form: parsing every event would triple the
 * cost of a burst (docs/performance.md#event-streams).
 */
export function eventLane(options: Reading): StreamReader {
  const { request, dialect, reading, fallback, eventBytesMax } = options
  const naming = { fallback, texts: reading.texts }
  const repair = createChunkRepair(naming, request.tools, dialect.finishReasons)
  const forms: EventForm[] = []
  const keep = (form: EventForm | undefined) => {
    if (form !== undefined && forms.unshift(form) > formsMax) forms.pop()
  }
  const forget = () => void forms.splice(0)
  const { readEvent, isOver, usage } = eventReader(repair, options, { keep, forget })
  let failure: ProviderFailure | undefined
  const tryEvent: ReadEvent = (event) => {
    try {
      return readEvent(event)
    } catch (thrown) {
      failure = toFailure(thrown)
      return undefined
    }
  }
  const isStopped = () => failure !== undefined || isOver()
  const events = wholeEvents(eventBytesMax, (arrived) =>
    isStopped() ? undefined : passOn(arrived, forms, tryEvent, isStopped),
  )
  return {
    push: events.push,
    end: () => {
      const last = events.end()
      if (isStopped()) return last
      if (!repair.hasFinished() && usage() === undefined) {
        failure = brokenOff()
        return last
      }
      return joined([...(last === undefined ? [] : [last]), ...repair.rest().map(eventOf)])
    },
    failure: () => failure,
    isOver,
    finish: () => ({ usage: usage(), identity: repair.identity() }),
    usageSoFar: usage,
  }
}

/** The forwarded version of events that arrived together. */
function passOn(
  events: Buffer,
  forms: readonly EventForm[],
  readEvent: ReadEvent,
  isStopped: () => boolean,
): Buffer | undefined {
  let out: Output | undefined
  let at = 0
  while (at < events.length && !isStopped()) {
    const start = at
    const form = forms.find((candidate) => {
      at = endOfForm(events, start, candidate, ends)
      return at >= 0
    })
    if (form !== undefined) {
      if (form.to === undefined) continue
      out ??= new Output(events)
      rewrite(events, start, form, { ends, out: out.leaveOut(start, at) })
      continue
    }
    at = endOfEvent(events, start)
    const event = events.subarray(start, at)
    const read = readEvent(event)
    if (read === event) continue
    out ??= new Output(events)
    out.leaveOut(start, at)
    if (read !== undefined) out.write(read)
  }
  if (out === undefined) return events
  return out.leaveOut(at, at).length === 0 ? undefined : out.written()
}

/** The ends of the texts of one event, from `endOfForm` to `rewrite`. */
const ends: number[] = []

function eventReader(
  repair: ChunkRepair,
  { dialect, reading, tokensMax }: Reading,
  { keep, forget }: { keep: (form: EventForm | undefined) => void; forget: () => void },
) {
  let usage: Usage | undefined
  let tier: unknown
  let over = false
  const readEvent: ReadEvent = (event) => {
    const { name, data, isPlain } = fieldsOf(event)
    if (data === '') return undefined
    if (data === '[DONE]') {
      over = true
      return joined(repair.rest().map(eventOf))
    }
    const parsed = parseEvent<unknown>(data)
    const members = membersOf(parsed)
    const counts = usageIn(members, dialect.usageMember)
    // The last counts replace earlier counts even if implausible; then the gateway estimates the tokens.
    if (counts?.['prompt_tokens'] !== undefined)
      usage = readUsage(counts, tokensMax, dialect.readCost)
    tier = members['service_tier'] ?? tier
    const failure = name === 'error' ? eventFailure(parsed, reading) : bodyFailure(parsed, reading)
    if (failure !== undefined) throw failure
    const chunk = readMembers(parsed)
    const ended = repair.ended()
    const repaired = repair.read(chunk)
    // Later events of the ended choice must not match a cached form, or they would be forwarded.
    if (repair.ended() > ended) forget()
    if (repaired === undefined) return undefined
    const passedOn = repaired === chunk && isPlain ? event : eventOf(repaired)
    if (repair.isSteady()) keep(formOf(event, passedOn))
    return passedOn
  }
  return {
    readEvent,
    isOver: () => over,
    usage: () => usage && withTier(usage, tier, reading.texts),
  }
}

function joined(events: readonly Buffer[]): Buffer | undefined {
  return events.length === 0 ? undefined : joinPieces(events)
}
