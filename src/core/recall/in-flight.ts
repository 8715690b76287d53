import { GatewayError } from '../error.ts'
import { wasCancelled } from '../failure.ts'

/** Answers in flight, by cache key, for identical calls to wait for. */
export type InFlight<T> = {
  /**
   * Waits for the answer in flight; undefined when there is none. Rejects when the answer failed,
   * or with the signal's reason.
   */
  find(key: string, signal: AbortSignal): Promise<Joined<T>> | undefined
  /** Lets identical calls wait from now on, until this one succeeds or fails. */
  begin(key: string): Making<T>
}
/** Ends the wait of identical calls; whoever holds it must call one of them. */
export type Making<T> = { succeed(answer: T): void; fail(error: unknown): void }
/** What a waiter gets: the answer, or the making of it when the caller who made it has left. */
export type Joined<T> = { answer: T; making?: never } | { answer?: never; making: Making<T> }

export function createInFlight<T>(): InFlight<T> {
  const running = new Map<string, Shared<T>>()
  return {
    find: (key, signal) => running.get(key)?.wait(signal),
    begin: (key) => {
      const shared = new Shared<T>(() => {
        if (running.get(key) === shared) running.delete(key)
      })
      // One that does not take what is in flight makes its own answer, for nobody else.
      if (!running.has(key)) running.set(key, shared)
      return shared
    },
  }
}

/** Most answers have no waiters, so promises are created only for those that exist. */
class Shared<T> implements Making<T> {
  readonly #onEnd: () => void
  #waiting: Set<PromiseWithResolvers<Joined<T>>> | undefined

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd
  }

  wait(signal: AbortSignal): Promise<Joined<T>> {
    const waiting = (this.#waiting ??= new Set())
    const waiter = Promise.withResolvers<Joined<T>>()
    waiting.add(waiter)
    // Who makes the answer has left the set: when that caller leaves, `fail` passes it on.
    const leave = () => {
      if (waiting.delete(waiter)) waiter.reject(signal.reason)
    }
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
    return waiter.promise.finally(() => signal.removeEventListener('abort', leave))
  }

  succeed(answer: T): void {
    this.#onEnd()
    for (const { resolve } of this.#waiting ?? []) resolve({ answer })
  }

  fail(error: unknown): void {
    // When only this caller left, or may not pay for it, the others must neither fail nor each ask
    // the provider.
    const [next] = concernsCallerAlone(error) ? (this.#waiting ?? []) : []
    if (next !== undefined) {
      this.#waiting?.delete(next)
      next.resolve({ making: this })
      return
    }
    this.#onEnd()
    for (const { reject } of this.#waiting ?? []) reject(error)
  }
}

function concernsCallerAlone(error: unknown): boolean {
  const isUnpaid = error instanceof GatewayError && error.code === 'insufficient_quota'
  return isUnpaid || wasCancelled(error)
}
