import { joinPieces } from '../../bytes/pieces.ts'
import type { ChatStream, ChatTurn, PreparedChat } from '../../core/chat/chat.ts'
import { ProviderFailure } from '../../core/failure.ts'
import type { Turn } from '../../core/turn.ts'
import type { StreamLimits } from '../transport/endpoint.ts'
import { endOfEvent, fieldsOf, wholeEvents } from './event-source.ts'
import {
  openForwarded,
  toFailure,
  type StreamOpening,
  type StreamReader,
} from './forwarded-stream.ts'
import type { Translator } from './translated-stream.ts'

type Asking = Required<Pick<PreparedChat, 'complete' | 'stream' | 'countInput'>>

/** Sends a request verbatim. If the vendor refuses it and `isTranslatable` is set, sends the translation. */
export function nativeFirst(
  native: Asking,
  translated: PreparedChat & Asking,
  isTranslatable: boolean,
): PreparedChat {
  const orElse = <Answer>(answer: Promise<Answer>, translate: () => Promise<Answer>) =>
    answer.catch((error: unknown) => {
      const isRefused = error instanceof ProviderFailure && error.kind === 'rejected'
      if (!isRefused || !isTranslatable) throw error
      return translate()
    })
  return {
    ...translated,
    isNative: true,
    complete: (turn) => orElse(native.complete(turn), () => translated.complete(withoutKey(turn))),
    stream: (turn) => orElse(native.stream(turn), () => translated.stream(withoutKey(turn))),
    countInput: (turn) => orElse(native.countInput(turn), () => translated.countInput(turn)),
  }
}

/** Another body needs another key. */
function withoutKey(turn: ChatTurn): ChatTurn {
  return { ...turn, idempotencyKey: undefined }
}

/** Reads the events of a vendor whose API is the caller's. */
export type NativeReader = Omit<Translator, 'read' | 'isOver'> & {
  /** Texts of the events that are read; all others are forwarded. */
  marks: readonly Buffer[]
  /** The event to forward instead of one with this data, which may be the data; undefined for none. */
  read(data: string): string | undefined
  isOver(): boolean
}

/** Opens a stream whose events are forwarded as the bytes that arrive. Rejects with a ProviderFailure. */
export async function openNative(
  opening: StreamOpening,
  turn: Turn,
  reader: () => NativeReader,
): Promise<ChatStream> {
  const { limits } = opening.endpoint
  const stream = await openForwarded(opening, turn, () => nativeReader(reader(), limits))
  return { ...stream, isNative: true }
}

/** Forwards events. A failure is kept until the events of the same piece are delivered. */
function nativeReader(
  { marks, read, finish, usageSoFar, isOver }: NativeReader,
  { jsonBytesMax }: StreamLimits,
): StreamReader {
  let failure: ProviderFailure | undefined
  const isStopped = () => failure !== undefined || isOver()
  const forwarded = (events: Buffer): Buffer | undefined => {
    const nextPlace = nextPlaceOf(marks, events)
    let marked = nextPlace(0)
    // Shortcut: most pieces are parts of the answer only.
    if (marked === Infinity) return isStopped() ? undefined : events
    const out: Buffer[] = []
    let unchanged = 0
    let at = 0
    while (at < events.length && !isStopped()) {
      const start = at
      at = endOfEvent(events, start)
      if (marked >= at) continue
      marked = nextPlace(at)
      const event = events.subarray(start, at)
      const changed = tryRead(event)
      if (changed === event) continue
      if (start > unchanged) out.push(events.subarray(unchanged, start))
      if (changed !== undefined) out.push(changed)
      unchanged = at
    }
    if (unchanged === 0) return at === events.length ? events : events.subarray(0, at)
    if (at > unchanged) out.push(events.subarray(unchanged, at))
    return out.length === 0 ? undefined : joinPieces(out)
  }
  const tryRead = (event: Buffer): Buffer | undefined => {
    try {
      const { name, data } = fieldsOf(event)
      if (data === '') return undefined
      const shown = read(data)
      if (shown === undefined) return undefined
      const head = name === undefined ? '' : `event: ${name}\n`
      return shown === data ? event : Buffer.from(`${head}data: ${shown}\n\n`)
    } catch (thrown) {
      failure = toFailure(thrown)
      return undefined
    }
  }
  const events = wholeEvents(jsonBytesMax, forwarded)
  return { ...events, failure: () => failure, isOver, finish, usageSoFar }
}

/** Returns a function that finds the first mark from a place on; Infinity without one. Each mark is searched once. */
function nextPlaceOf(marks: readonly Buffer[], events: Buffer): (from: number) => number {
  const places = marks.map(() => -1)
  return (from) => {
    let next = Infinity
    for (const [index, mark] of marks.entries()) {
      if (places[index]! < from) {
        const found = events.indexOf(mark, from)
        places[index] = found < 0 ? Infinity : found
      }
      next = Math.min(next, places[index]!)
    }
    return next
  }
}
