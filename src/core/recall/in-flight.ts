import { wasCancelled } from '../failure.ts'

/** Answers in flight, by cache key, for identical calls to wait for. */
export type InFlight<T> = {
  /**
   * The answer in flight; undefined when there is none. The promise resolves with undefined when
   * the call that was making the answer was cancelled and this waiter is promoted: it must `begin`
   * at once. It rejects when the answer failed, or with the signal's reason.
   */
  find(key: string, signal: AbortSignal): Promise<T | undefined> | undefined
  /** Lets identical calls wait from now on, until this one succeeds or fails. */
  begin(key: string): Making<T>
}
/** Ends the wait of identical calls. */
export type Making<T> = { succeed(answer: T): void; fail(error: unknown): void }

export function createInFlight<T>(): InFlight<T> {
  const running = new Map<string, Shared<T>>()
  return {
    find: (key, signal) => running.get(key)?.wait(signal),
    begin: (key) => {
      const known = running.get(key)
      if (known?.takeOver() === true) return known
      const shared = new Shared<T>(() => {
        if (running.get(key) === shared) running.delete(key)
      })
      if (known === undefined) running.set(key, shared)
      return shared
    },
  }
}

/** Most answers have no waiters, so promises are created only for those that exist. */
class Shared<T> implements Making<T> {
  readonly #onEnd: () => void
  #waiting: Set<PromiseWithResolvers<T | undefined>> | undefined
  #hasPromoted = false

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd
  }

  wait(signal: AbortSignal): Promise<T | undefined> {
    const waiting = (this.#waiting ??= new Set())
    const waiter = Promise.withResolvers<T | undefined>()
    waiting.add(waiter)
    // A promoted waiter was removed from the set: when its caller leaves, `fail` promotes the next.
    const leave = () => {
      if (waiting.delete(waiter)) waiter.reject(signal.reason)
    }
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
    return waiter.promise.finally(() => signal.removeEventListener('abort', leave))
  }

  /** Whether a promoted waiter is expected to begin; true once per promotion. */
  takeOver(): boolean {
    const hasPromoted = this.#hasPromoted
    this.#hasPromoted = false
    return hasPromoted
  }

  succeed(answer: T): void {
    this.#onEnd()
    for (const { resolve } of this.#waiting ?? []) resolve(answer)
  }

  fail(error: unknown): void {
    // When only this caller left, the others must neither fail nor each ask the provider.
    const [promotedWaiter] = wasCancelled(error) ? (this.#waiting ?? []) : []
    if (promotedWaiter !== undefined) {
      this.#waiting?.delete(promotedWaiter)
      this.#hasPromoted = true
      promotedWaiter.resolve(undefined)
      return
    }
    this.#onEnd()
    for (const { reject } of this.#waiting ?? []) reject(error)
  }
}
