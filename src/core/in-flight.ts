import { wasCancelled } from './failure.ts'

/** Answers that are being made, by cache key, for identical calls to wait for. */
export type InFlight<T> = {
  /** The answer under way; undefined when there is none, or when its own caller leaves meanwhile. */
  find(key: string): Promise<T | undefined> | undefined
  /** Lets others wait for an answer from now on, until it is there or has failed. */
  begin(key: string): Making<T>
}
export type Making<T> = { succeed(answer: T): void; fail(error: unknown): void }

export function createInFlight<T>(): InFlight<T> {
  const running = new Map<string, Shared<T>>()
  return {
    find: (key) => running.get(key)?.wait(),
    begin: (key) => {
      const shared = new Shared<T>(() => {
        if (running.get(key) === shared) running.delete(key)
      })
      if (!running.has(key)) running.set(key, shared)
      return shared
    },
  }
}

/** Nobody waits for most answers: the promise is made for the first who does. */
class Shared<T> implements Making<T> {
  readonly #onEnd: () => void
  #waiting: PromiseWithResolvers<T | undefined> | undefined

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd
  }

  wait(): Promise<T | undefined> {
    this.#waiting ??= Promise.withResolvers()
    return this.#waiting.promise
  }

  succeed(answer: T): void {
    this.#onEnd()
    this.#waiting?.resolve(answer)
  }

  fail(error: unknown): void {
    this.#onEnd()
    // That one caller leaves is no reason to fail the others.
    if (wasCancelled(error)) this.#waiting?.resolve(undefined)
    else this.#waiting?.reject(error)
  }
}
