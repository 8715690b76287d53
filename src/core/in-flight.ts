import { ProviderFailure } from './failure.ts'

/** Answers that are being made, by cache key, for identical calls to wait for. */
export type InFlight<T> = {
  /** The answer under way; undefined when there is none, or when its own caller leaves meanwhile. */
  find(key: string): Promise<T | undefined> | undefined
  share(key: string, answering: Promise<T>): void
}

export function createInFlight<T>(): InFlight<T> {
  const running = new Map<string, Promise<T | undefined>>()
  return {
    find: (key) => running.get(key),
    share: (key, answering) => {
      const shared = answering.catch((error: unknown) => {
        if (wasLeft(error)) return undefined
        throw error
      })
      // Its own caller hears of a failure without this.
      shared.catch(() => undefined)
      if (running.has(key)) return
      running.set(key, shared)
      shared.finally(() => running.delete(key)).catch(() => undefined)
    },
  }
}

/** That one caller leaves is no reason to fail the others. */
function wasLeft(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof ProviderFailure && cause.kind === 'cancelled'
}
