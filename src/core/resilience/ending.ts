/** Ends the work of a request early: `signal` aborts with a ProviderFailure. */
export class Ending extends AbortController {
  #left: LeftCalls | undefined
  #ownerId = ''

  /** From here on the call goes to its end when its caller leaves, and counts among those left. */
  goOn(left: LeftCalls, ownerId: string): void {
    this.#left = left
    this.#ownerId = ownerId
  }

  /** The caller has left, or cancels the call. */
  leave(reason: Error): void {
    if (this.#left?.add(this, this.#ownerId) !== true) this.abort(reason)
  }

  /** The call has ended. */
  over(): void {
    this.#left?.delete(this, this.#ownerId)
    this.#left = undefined
  }
}

/**
 * A call that was left keeps its slot of `concurrent_requests_max` (2000 by default): a key takes a
 * twentieth of them at most. Beyond it the call is ended at its provider, and charged as it was held.
 */
export const leftCallsPerKeyMax = 100

/** The calls that go on without their callers, by the owner of their key's limits. */
export type LeftCalls = {
  /** Whether the call goes on: false when its owner has too many already. */
  add(ending: Ending, ownerId: string): boolean
  delete(ending: Ending, ownerId: string): void
  /** Ends all of them at their providers, with a ProviderFailure. */
  endAll(reason: Error): void
}

/** `onChange` receives how many more go on, or fewer. */
export function createLeftCalls(onChange: (change: 1 | -1) => void): LeftCalls {
  const owners = new Map<string, Set<Ending>>()
  return {
    add: (ending, ownerId) => {
      const known = owners.get(ownerId) ?? new Set()
      if (known.has(ending)) return true
      if (known.size >= leftCallsPerKeyMax) return false
      owners.set(ownerId, known.add(ending))
      onChange(1)
      return true
    },
    delete: (ending, ownerId) => {
      const known = owners.get(ownerId)
      if (known?.delete(ending) !== true) return
      if (known.size === 0) owners.delete(ownerId)
      onChange(-1)
    },
    endAll: (reason) => {
      for (const known of owners.values()) for (const one of known) one.abort(reason)
    },
  }
}
