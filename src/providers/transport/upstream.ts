import type { Hold } from '../../bytes/budget.ts'
import { joinPieces } from '../../bytes/pieces.ts'
import { ProviderFailure } from '../../core/failure.ts'
import type { TraceHeaders } from '../../core/trace.ts'
import { connectionFailure, enough, readFailure, tooLarge } from './answer-failure.ts'
import type { Coalescing } from './coalescing.ts'
import { inTrace, type Dispatch, type UpstreamHead, type UpstreamRequest } from './dispatch.ts'
import { drawOn, noMemory } from './drawing.ts'
import { checkJsonBounds } from './json-bounds.ts'
import { linkSignal } from './link-signal.ts'

export type { UpstreamHead } from './dispatch.ts'
/** An answer that is parsed and printed again is there as its bytes, its value and its text. */
export const printedCopies = 3

/** Reads an answer piece by piece; `finish` gives what it holds. */
export type PieceReader<T> = {
  push(piece: Buffer): void
  finish(): T
  /** For an answer whose beginning is enough: whether that has come. It may not take long either. */
  isEnough?(): boolean
}

type Options = {
  dispatch: Dispatch
  request: UpstreamRequest
  signal: AbortSignal
  /** What the call holds of the memory: what is read of the answer stays in it. */
  hold: Hold
  /** The call's place in a trace: for vendors, and for nobody else. */
  traceHeaders: TraceHeaders | undefined
  bytesMax: number
  /** How often what is read is there at once; once when absent. */
  copies?: number
}

/**
 * Sends a request and reads the whole answer, with the reader that `readerFor` picks by its head.
 * Throws a ProviderFailure: `unreachable`, `timeout`, `malformed` when the answer cannot be read or
 * is larger than `bytesMax`, `no_memory` when there is no room for it, what the reader throws, or the
 * reason with which `signal` aborts.
 */
export function receive<T>(
  { dispatch, request, signal, hold, traceHeaders, bytesMax, copies = 1 }: Options,
  readerFor: (head: UpstreamHead) => PieceReader<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let reader: PieceReader<T> | undefined
    let bytes = 0
    let lastWait: NodeJS.Timeout | undefined
    let wasSent = false
    const link = linkSignal(signal)
    const room = drawOn({ hold, copies, control: link.control, abort: link.abort })
    const clear = () => {
      link.clear()
      clearTimeout(lastWait)
    }
    const settle = () => {
      clear()
      room.settle()
      try {
        resolve(reader!.finish())
      } catch (error) {
        room.giveBack()
        reject(readFailure(error))
      }
    }
    const cut = () => {
      settle()
      link.abort(enough())
    }
    dispatch(inTrace(request, traceHeaders), {
      start: link.start,
      sent: () => (wasSent = true),
      head: (status, headers) => {
        reader = readerFor({ status, headers })
        if (reader.isEnough === undefined) return room.announce({ headers }, bytesMax)
        lastWait = setTimeout(cut, request.errorTimeoutMs)
      },
      data: (piece) => {
        bytes += piece.length
        if (bytes > bytesMax) return link.abort(tooLarge())
        try {
          reader?.push(piece)
        } catch (error) {
          return link.abort(readFailure(error))
        }
        if (reader?.isEnough?.() === true) cut()
        else room.arrived(bytes)
      },
      end: settle,
      error: (error) => {
        clear()
        const rested = room.giveBack()
        const failure = connectionFailure(error, signal, wasSent)
        reject(rested && failure.kind === 'timeout' ? noMemory() : failure)
      },
    })
  })
}

/** Reads the rest of an open answer; one whose beginning is enough is cut off there, or after the time. */
export function readRest<T>(
  answer: OpenAnswer,
  reader: PieceReader<T>,
  timeoutMs: number,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      clearTimeout(lastWait)
      try {
        resolve(reader.finish())
      } catch (error) {
        reject(readFailure(error))
      }
    }
    const cut = () => {
      settle()
      answer.abort(enough())
    }
    const lastWait = setTimeout(cut, timeoutMs)
    const read = (piece: Buffer) => {
      reader.push(piece)
      if (reader.isEnough?.() === true) cut()
    }
    answer.each(read).then(settle, (error: ProviderFailure) => {
      clearTimeout(lastWait)
      reject(error)
    })
  })
}

/** Collects a whole answer; `finish` gives its bytes. */
export function wholeReader(): PieceReader<Buffer> {
  const pieces: Buffer[] = []
  return {
    push: (piece) => pieces.push(piece),
    finish: () => joinPieces(pieces),
  }
}

/** Parses an upstream's JSON. Throws a ProviderFailure `malformed`. */
export function parseJson(bytes: Buffer): unknown {
  checkJsonBounds(bytes)
  try {
    return JSON.parse(bytes.toString())
  } catch (cause) {
    throw new ProviderFailure('malformed', 'The answer is not JSON.', { cause })
  }
}

/** An answer whose first piece has arrived, or that ended without one. */
export type OpenAnswer = {
  head: UpstreamHead
  /** What has arrived and was not handed over yet. */
  peek(): Buffer | undefined
  /** Hands over each piece in order; resolves at the end, rejects with a ProviderFailure. */
  each(onPiece: (piece: Buffer) => void): Promise<void>
  pause(): void
  resume(): void
  abort(reason: ProviderFailure): void
  /** What the call holds of the memory. */
  hold: Hold
  /** Aborts it when it has not ended by then, for an answer whose content is complete. */
  endWithin(timeoutMs: number): void
}

/** A request whose answer is read in pieces. */
export type Opening = Omit<Options, 'bytesMax'> & { coalescing: Coalescing }

/** Sends a request; resolves at the first piece or the end. Rejects with a ProviderFailure. */
export function open({
  dispatch,
  request,
  signal,
  hold,
  traceHeaders,
  coalescing,
}: Opening): Promise<OpenAnswer> {
  return new Promise((resolve, reject) => {
    const link = linkSignal(signal)
    const passage = passPieces(coalescing)
    let head: UpstreamHead = { status: 0, headers: {} }
    let lastWait: NodeJS.Timeout | undefined
    let wasSent = false
    const answer = () =>
      resolve({
        head,
        peek: passage.peek,
        each: passage.each,
        pause: () => link.control().pause(),
        resume: () => link.control().resume(),
        abort: link.abort,
        hold,
        endWithin: (timeoutMs) => {
          if (passage.isOver()) return
          const reason = new ProviderFailure('cancelled', 'The stream was over.')
          lastWait = setTimeout(() => link.abort(reason), timeoutMs)
        },
      })
    const finish = (how: Ending) => {
      link.clear()
      clearTimeout(lastWait)
      passage.finish(how)
    }
    dispatch(inTrace(request, traceHeaders), {
      start: link.start,
      sent: () => (wasSent = true),
      head: (status, headers) => {
        head = { status, headers }
        // Who reads an error does not wait for long, also where nothing comes.
        if (status !== 200) answer()
      },
      data: (piece) => {
        if (passage.push(piece) === 'first') answer()
      },
      end: () => {
        finish('end')
        answer()
      },
      error: (error) => {
        const failure = connectionFailure(error, signal, wasSent)
        finish(failure)
        reject(failure)
      },
    })
  })
}

type Ending = 'end' | ProviderFailure

/** Buffers the pieces of an answer until there is a listener and `coalescing` flushes them. */
function passPieces(coalescing: Coalescing) {
  coalescing.opened()
  let waiting: Buffer[] | undefined
  let bytes = 0
  let ending: Ending | undefined
  let listener: ((piece: Buffer) => void) | undefined
  let onEnding: (how: Ending) => void
  // A burst is hundreds of pieces in one turn of the event loop: joined, they cost about one.
  const flush = () => {
    if (listener === undefined) return
    if (waiting !== undefined) {
      const piece = joinPieces(waiting)
      waiting = undefined
      bytes = 0
      listener(piece)
    }
    if (ending !== undefined) onEnding(ending)
  }
  const each: OpenAnswer['each'] = (onPiece) =>
    new Promise((resolve, reject) => {
      listener = onPiece
      onEnding = (how) => (how === 'end' ? resolve() : reject(how))
      flush()
    })
  return {
    peek: () => waiting?.[0],
    each,
    isOver: () => ending !== undefined,
    push: (piece: Buffer): 'first' | 'further' => {
      bytes += piece.length
      if (waiting !== undefined) {
        waiting.push(piece)
        if (bytes > coalescing.bytesMax) flush()
        return 'further'
      }
      // Not pushed to an empty array: V8 would allocate seventeen slots.
      waiting = [piece]
      if (listener === undefined) return 'first'
      coalescing.next(flush)
      return 'further'
    },
    finish: (how: Ending) => {
      ending = how
      coalescing.closed()
      // The end waits for the scheduled flush of the last pieces; a failure is reported at once.
      if (how !== 'end' || waiting === undefined) flush()
    },
  }
}
