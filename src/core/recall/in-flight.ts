import { wasCancelled } from '../failure.ts'

/** Answers that are being made, by cache key, for identical calls to wait for. */
export type InFlight<T> = {
  /**
   * The answer under way; undefined when there is none. Its promise is kept with undefined when its
   * own caller leaves and this one is to `begin` at once, for all who wait; it is broken with the
   * signal's reason.
   */
  find(key: string, signal: AbortSignal): Promise<T | undefined> | undefined
  /** Lets others wait for an answer from now on, until it is there or has failed. */
  begin(key: string): Making<T>
}
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

/** Nobody waits for most answers: a promise is made for each who does. */
class Shared<T> implements Making<T> {
  readonly #onEnd: () => void
  #waiting: Set<PromiseWithResolvers<T | undefined>> | undefined
  #inherited = false

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd
  }

  wait(signal: AbortSignal): Promise<T | undefined> {
    const waiting = (this.#waiting ??= new Set())
    const waiter = Promise.withResolvers<T | undefined>()
    waiting.add(waiter)
    // Who was made the heir goes on, and passes it on like any other maker who leaves.
    const leave = () => {
      if (waiting.delete(waiter)) waiter.reject(signal.reason)
    }
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
    return waiter.promise.finally(() => signal.removeEventListener('abort', leave))
  }

  /** Whether it had nobody to make it; from now on it has. */
  takeOver(): boolean {
    const inherited = this.#inherited
    this.#inherited = false
    return inherited
  }

  succeed(answer: T): void {
    this.#onEnd()
    for (const { resolve } of this.#waiting ?? []) resolve(answer)
  }

  fail(error: unknown): void {
    // That one caller leaves is no reason to fail the others, nor to ask the provider for each of them.
    const [heir] = wasCancelled(error) ? (this.#waiting ?? []) : []
    if (heir !== undefined) {
      this.#waiting?.delete(heir)
      this.#inherited = true
      heir.resolve(undefined)
      return
    }
    this.#onEnd()
    for (const { reject } of this.#waiting ?? []) reject(error)
  }
}
