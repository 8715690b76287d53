import { excessOf } from '../../bytes/json-bounds.ts'
import { joinPieces } from '../../bytes/pieces.ts'
import { ProviderFailure } from '../../core/failure.ts'
import type { Turn } from '../../core/turn.ts'
import { connectionFailure, enough, readFailure, tooLarge } from './answer-failure.ts'
import { passPieces, type Ending } from './coalescing.ts'
import type { Endpoint } from './endpoint.ts'
import {
  ofTurn,
  linkSignal,
  type Dispatch,
  type UpstreamHead,
  type UpstreamRequest,
} from './dispatch.ts'
import { reserveAnswerMemory, noMemory } from './answer-memory.ts'

export type { UpstreamHead } from './dispatch.ts'
/** Copies in memory of an answer that is parsed and printed again: bytes, value and text. */
export const printedCopies = 3

/** Reads an answer piece by piece; `finish` returns the result. */
export type PieceReader<T> = {
  push(piece: Buffer): void
  finish(): T
  /** Whether a needed beginning has arrived; a reader with this function also has a time limit. */
  isEnough?(): boolean
  /** Whether the vendor marked the end; it must then end the answer within a time limit. */
  isOver?(): boolean
  /** The bytes that are no longer in memory. */
  releasedBytes?(): number
}

type Receiving = {
  dispatch: Dispatch
  request: UpstreamRequest
  bytesMax: number
  /** Copies of the answer in memory; 1 when absent. */
  copies?: number
}

/**
 * Sends a request and reads the whole answer with the reader that `readerFor` selects by the head.
 * Throws a ProviderFailure: `unreachable`, `timeout`, `malformed` if the answer is unreadable or
 * larger than `bytesMax`, `no_memory`, errors of the reader, or the reason with which `signal`
 * aborts.
 */
export function receive<T>(
  { dispatch, request, bytesMax, copies = 1 }: Receiving,
  turn: Turn,
  readerFor: (head: UpstreamHead) => PieceReader<T>,
): Promise<T> {
  const { signal, memory } = turn
  return new Promise((resolve, reject) => {
    let reader: PieceReader<T> | undefined
    let bytes = 0
    let lastWait: NodeJS.Timeout | undefined
    let wasSent = false
    const link = linkSignal(signal)
    const answerMemory = reserveAnswerMemory({
      memory,
      copies,
      control: link.control,
      abort: link.abort,
    })
    const clear = () => {
      link.clear()
      clearTimeout(lastWait)
    }
    const settle = () => {
      clear()
      answerMemory.settle()
      try {
        resolve(reader!.finish())
      } catch (error) {
        answerMemory.giveBack()
        reject(readFailure(error))
      }
    }
    const cut = () => {
      settle()
      link.abort(enough())
    }
    dispatch(ofTurn(request, turn), {
      start: link.start,
      sent: () => (wasSent = true),
      head: (status, headers) => {
        reader = readerFor({ status, headers, wasSent })
        if (reader.isEnough === undefined) return answerMemory.announce({ headers }, bytesMax)
        lastWait = setTimeout(cut, request.limits.endTimeoutMs)
      },
      data: (piece) => {
        bytes += piece.length
        if (bytes > bytesMax) return link.abort(tooLarge())
        try {
          reader?.push(piece)
        } catch (error) {
          return link.abort(readFailure(error))
        }
        if (reader?.isEnough?.() === true) return cut()
        answerMemory.arrived(bytes - (reader?.releasedBytes?.() ?? 0))
        if (lastWait === undefined && reader?.isOver?.() === true)
          lastWait = setTimeout(cut, request.limits.endTimeoutMs)
      },
      end: settle,
      error: (error) => {
        clear()
        const waited = answerMemory.giveBack()
        const failure = connectionFailure(error, signal, wasSent)
        reject(waited && failure.kind === 'timeout' ? noMemory() : failure)
      },
    })
  })
}

/** Reads the rest of an open answer, up to the reader's `isEnough` or the timeout. */
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

/** Collects a whole answer, and reads its bytes at the end. */
export function wholeReader<T>(read: (bytes: Buffer) => T): PieceReader<T> {
  const pieces: Buffer[] = []
  return {
    push: (piece) => pieces.push(piece),
    finish: () => read(joinPieces(pieces)),
  }
}

/** Limits of the JSON of an answer (docs/vendors.md#bounds-of-answers). */
const jsonBounds = {
  // Vendors nest JSON some ten levels deep; thousands would overflow the stack when it is printed.
  levelsMax: 256,
  // Enough for 5000 tokens with the probabilities of twenty alternatives each.
  valuesMax: 1_000_000,
  // V8 creates a class for each set of names; 100,000 names block the process for 100 ms.
  namesMax: 10_000,
}
/** Smaller texts are not scanned, since they cannot block the event loop. */
const scannedBytesMin = 2048

/** Throws a ProviderFailure `malformed` for JSON that would block the event loop or overflow the stack. */
export function checkJsonBounds(bytes: Buffer): void {
  if (bytes.length < scannedBytesMin || excessOf(bytes, jsonBounds) === undefined) return
  throw new ProviderFailure('malformed', 'The JSON of the answer exceeds the limits.')
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
  /** The first piece that was received but not yet passed to `each`. */
  peek(): Buffer | undefined
  /** Passes each piece in order; resolves at the end, rejects with a ProviderFailure. */
  each(onPiece: (piece: Buffer) => void): Promise<void>
  pause(): void
  resume(): void
  abort(reason: ProviderFailure): void
  memory: Turn['memory']
  /** Called when the content is complete: aborts an answer that does not end within the timeout. */
  endWithin(timeoutMs: number): void
}

/** Sends a request; resolves at the first piece or the end. Rejects with a ProviderFailure. */
export function open(
  { dispatch, coalescing }: Pick<Endpoint, 'dispatch' | 'coalescing'>,
  request: UpstreamRequest,
  turn: Turn,
): Promise<OpenAnswer> {
  const { signal, memory } = turn
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
        memory,
        endWithin: (timeoutMs) => {
          if (passage.isOver()) return
          lastWait = setTimeout(() => link.abort(enough()), timeoutMs)
        },
      })
    const finish = (how: Ending) => {
      link.clear()
      clearTimeout(lastWait)
      passage.finish(how)
    }
    dispatch(ofTurn(request, turn), {
      start: link.start,
      sent: () => (wasSent = true),
      head: (status, headers) => {
        head = { status, headers, wasSent }
        // Resolves at once for an error, whose body is read with its own short timeout.
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
