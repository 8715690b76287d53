import { EventEmitter } from 'node:events'
import { GatewayError } from '../error.ts'
import { callerCancelled } from './deadline.ts'

/** The place of a call that goes on after its answer. */
type BackgroundPlace = {
  /** From now on the call ends with its response or job. */
  runs(id: string, ending: AbortController): void
  /** Must be called when the call has ended. */
  leave(): void
}

type Options = {
  /** Those of these responses and jobs that have not ended. Rejects if the store fails. */
  running: (ids: readonly string[]) => Promise<ReadonlySet<string>>
  onFault: (error: unknown) => void
  limits: { backgroundCallsPerAccountMax: number; backgroundRecheckMs: number }
}

/** What an account has too many of, and the parameter that asks for them. */
type Refused = { what: 'responses' | 'images'; param: 'background' | 'prefer' }

/** The calls of this process that go on after their answer, and the jobs that its clients watch. */
export type BackgroundCalls = ReturnType<typeof createBackgroundCalls>

export function createBackgroundCalls(options: Options) {
  const { backgroundCallsPerAccountMax: most } = options.limits
  const places = new Map<string, number>()
  const watchers = new Map<string, number>()
  const calls = new Map<string, AbortController>()
  const ends = createEnds(options)
  return {
    /** Takes a place of an account. Throws `rate_limit_exceeded`, unless the call was admitted by another process. */
    take: (accountId: string, refused: Refused | undefined): BackgroundPlace => {
      const isFull = (places.get(accountId) ?? 0) >= most
      if (isFull && refused !== undefined) throw tooMany(most, refused)
      const leave = countIn(places, accountId)
      let stop: (() => void) | undefined
      return {
        runs: (id, ending) => {
          calls.set(id, ending)
          const off = ends.on(id, (isOwn) => isOwn || ending.abort(callerCancelled()))
          stop = () => {
            off()
            calls.delete(id)
          }
        },
        leave: () => {
          stop?.()
          leave()
        },
      }
    },
    /** Resolves when the job has ended or was deleted, or the signal aborts. Throws `rate_limit_exceeded` at once. */
    endOf: (
      { id, accountId }: { id: string; accountId: string },
      signal: AbortSignal,
    ): Promise<void> => {
      if ((watchers.get(accountId) ?? 0) >= most) throw tooManyWatched(most)
      const leave = countIn(watchers, accountId)
      const { promise, resolve } = Promise.withResolvers<void>()
      const stop = ends.on(id, () => resolve())
      if (signal.aborted) resolve()
      else signal.addEventListener('abort', () => resolve(), { once: true })
      return promise.finally(() => {
        stop()
        leave()
      })
    },
    /**
     * Called when a response or job has ended: ends its watchers, and its call if this process runs it, unless the
     * call has made the end itself (`isOwn`).
     */
    ended: ends.emit,
    isRunning: (id: string) => calls.has(id),
    /** Whether any call runs. */
    isBusy: () => calls.size > 0,
    /** Aborts all calls with a ProviderFailure. */
    endAll: (reason: Error) => {
      for (const ending of calls.values()) ending.abort(reason)
    },
    /** Reports an error that is no failure of a call. */
    faulted: options.onFault,
  }
}

/** All that run or are watched are looked up together, since another process may end them. */
function createEnds({ running, limits: { backgroundRecheckMs: recheckMs } }: Options) {
  /** Its events are the ids of responses and jobs that have ended. */
  const ends = new EventEmitter().setMaxListeners(0)
  let timer: NodeJS.Timeout | undefined
  const look = async (): Promise<void> => {
    const ids = ends.eventNames() as string[]
    // When the store fails, calls and watchers continue until the next check.
    const left = await running(ids).catch(() => undefined)
    for (const id of ids) if (left?.has(id) === false) ends.emit(id)
    timer = ends.eventNames().length === 0 ? undefined : again()
  }
  const again = () => setTimeout(() => void look(), recheckMs).unref()
  return {
    emit: (id: string, isOwn = false): void => void ends.emit(id, isOwn),
    /** Returns a function that removes the listener. */
    on: (id: string, listener: (isOwn: boolean) => void): (() => void) => {
      ends.on(id, listener)
      timer ??= again()
      return () => void ends.off(id, listener)
    },
  }
}

/** Counts one more of an account; the returned function counts it off. */
function countIn(counts: Map<string, number>, accountId: string): () => void {
  counts.set(accountId, (counts.get(accountId) ?? 0) + 1)
  return () => {
    const others = counts.get(accountId)! - 1
    if (others === 0) counts.delete(accountId)
    else counts.set(accountId, others)
  }
}

function tooMany(most: number, { what, param }: Refused): GatewayError {
  const text = `${most} responses and image jobs of this account are running. Ask for more ${what} when one has ended.`
  return new GatewayError('rate_limit_exceeded', text, { param, retryAfterSeconds: 5 })
}

function tooManyWatched(most: number): GatewayError {
  const text = `This account watches ${most} image jobs already. Close a stream, or poll the job.`
  return new GatewayError('rate_limit_exceeded', text, { param: 'job_id', retryAfterSeconds: 5 })
}
