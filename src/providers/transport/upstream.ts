import { joinPieces } from '../../bytes/pieces.ts'
import { ProviderFailure } from '../../core/failure.ts'
import type { Coalescing } from './coalescing.ts'
import type { Dispatch, UpstreamControl, UpstreamRequest } from './dispatch.ts'

export type UpstreamHead = {
  status: number
  headers: Record<string, string | string[] | undefined>
}
/** Takes an answer apart as it arrives. */
export type PieceReader<T> = { push(piece: Buffer): void; finish(): T }

type Options = {
  dispatch: Dispatch
  request: UpstreamRequest
  signal: AbortSignal
  bytesMax: number
}

/**
 * Sends a request and reads the whole answer, with the reader that `readerFor` picks by its head.
 * Throws a ProviderFailure when no answer comes: `unreachable`, `timeout`, `malformed` when it is
 * cut or larger than `bytesMax`, or the reason with which `signal` aborts.
 */
export function receive<T>(
  { dispatch, request, signal, bytesMax }: Options,
  readerFor: (head: UpstreamHead) => PieceReader<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let reader: PieceReader<T> | undefined
    let bytes = 0
    const link = linkSignal(signal)
    const fail = (error: unknown) => {
      link.clear()
      reject(toFailure(error, signal))
    }
    dispatch(request, {
      start: link.start,
      head: (status, headers) => {
        reader = readerFor({ status, headers })
      },
      data: (piece) => {
        bytes += piece.length
        if (bytes <= bytesMax) reader?.push(piece)
        else link.abort(new ProviderFailure('malformed', 'The answer is too large.'))
      },
      end: () => {
        link.clear()
        try {
          resolve(reader!.finish())
        } catch (error) {
          // Whoever reads an answer of another shape stumbles over it.
          const message = 'The answer is not what the provider promises.'
          reject(
            error instanceof ProviderFailure
              ? error
              : new ProviderFailure('malformed', message, { cause: error }),
          )
        }
      },
      error: fail,
    })
  })
}

/** An answer of which the first piece is there and the rest is on its way. */
export type OpenAnswer = {
  head: UpstreamHead
  /** Empty when the answer has no body. */
  firstPiece: Buffer
  /** Hands over each piece in order; resolves at the end, rejects with a ProviderFailure. */
  each(onPiece: (piece: Buffer) => void): Promise<void>
  pause(): void
  resume(): void
  abort(reason: ProviderFailure): void
  /** Breaks it off when it goes on for longer: all that counts of it was there. */
  endWithin(timeoutMs: number): void
}

/** Sends a request and resolves when the first piece of a body is there, or its end. */
export function open({
  dispatch,
  request,
  signal,
  coalescing,
}: Omit<Options, 'bytesMax'> & { coalescing: Coalescing }): Promise<OpenAnswer> {
  return new Promise((resolve, reject) => {
    const link = linkSignal(signal)
    const passage = passPieces(coalescing)
    let head: UpstreamHead = { status: 0, headers: {} }
    let lastWait: NodeJS.Timeout | undefined
    const answer = (firstPiece: Buffer) =>
      resolve({
        head,
        firstPiece,
        each: passage.each,
        pause: () => link.control().pause(),
        resume: () => link.control().resume(),
        abort: link.abort,
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
    dispatch(request, {
      start: link.start,
      head: (status, headers) => {
        head = { status, headers }
      },
      data: (piece) => {
        if (passage.push(piece) === 'first') answer(piece)
      },
      end: () => {
        finish('end')
        answer(nothing)
      },
      error: (error) => {
        const failure = toFailure(error, signal)
        finish(failure)
        reject(failure)
      },
    })
  })
}

type Ending = 'end' | ProviderFailure

/** What has arrived of an answer waits here for a listener, and for its turn. */
function passPieces(coalescing: Coalescing) {
  coalescing.opened()
  let waiting: Buffer[] | undefined
  let bytes = 0
  let ending: Ending | undefined
  let listener: ((piece: Buffer) => void) | undefined
  let onEnding: (how: Ending) => void
  // A burst arrives as hundreds of pieces in one turn: together they cost little more than one.
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
    each,
    isOver: () => ending !== undefined,
    push: (piece: Buffer): 'first' | 'further' => {
      bytes += piece.length
      if (waiting !== undefined) {
        waiting.push(piece)
        if (bytes > coalescing.bytesMax) flush()
        return 'further'
      }
      // An array that grows from nothing takes room for seventeen.
      waiting = [piece]
      if (listener === undefined) return 'first'
      coalescing.next(flush)
      return 'further'
    },
    finish: (how: Ending) => {
      ending = how
      coalescing.closed()
      // The end follows what waits; that an answer broke off is told at once.
      if (how !== 'end' || waiting === undefined) flush()
    },
  }
}

const nothing = Buffer.alloc(0)

/** Ties a request to the signal that ends it. */
function linkSignal(signal: AbortSignal) {
  let running: UpstreamControl | undefined
  const abort = (reason: Error) => running?.abort(reason)
  const onAbort = () => abort(signal.reason as Error)
  return {
    start: (control: UpstreamControl) => {
      running = control
      if (signal.aborted) onAbort()
      else signal.addEventListener('abort', onAbort, { once: true })
    },
    control: () => running!,
    abort,
    clear: () => signal.removeEventListener('abort', onAbort),
  }
}

const timeoutCodes = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])
const cutCodes = new Set(['UND_ERR_SOCKET', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'ECONNRESET'])

/** What undici reports, in our words. The original goes to the log alone. */
function toFailure(error: unknown, signal: AbortSignal): ProviderFailure {
  if (error instanceof ProviderFailure) return error
  if (signal.aborted && signal.reason instanceof ProviderFailure) return signal.reason
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (timeoutCodes.has(code)) {
    return new ProviderFailure('timeout', 'The provider paused for too long.', { cause: error })
  }
  if (cutCodes.has(code) || code.startsWith('HPE_')) {
    return new ProviderFailure('unreachable', 'The provider broke the connection.', {
      cause: error,
    })
  }
  return new ProviderFailure('unreachable', 'The provider cannot be reached.', { cause: error })
}
