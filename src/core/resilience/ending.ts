/** Ends the work of a request early: `signal` aborts with a ProviderFailure. */
export class Ending extends AbortController {
  #left: AbandonedCalls | undefined
  #ownerId = ''
  #hasLeft = false
  /** Called when the caller has disconnected and the call continues. */
  onContinued: (() => void) | undefined

  /** Whether the caller has disconnected or cancelled the call. */
  get hasLeft(): boolean {
    return this.#hasLeft
  }

  /** From now on the call continues after a disconnect of its caller, and then counts as abandoned. */
  continueAfterDisconnect(left: AbandonedCalls, ownerId: string): void {
    this.#left = left
    this.#ownerId = ownerId
  }

  /** Called when the caller disconnects or cancels the call. */
  leave(reason: Error): void {
    const isFirst = !this.#hasLeft
    this.#hasLeft = true
    if (this.#left?.add(this, this.#ownerId) !== true) return this.abort(reason)
    if (isFirst) this.onContinued?.()
  }

  /** Called when the call has ended. */
  over(): void {
    this.#left?.delete(this, this.#ownerId)
    this.#left = undefined
  }
}

/**
 * Abandoned calls of one key. Each keeps its slot of `concurrent_requests_max` (2000 by default), so a key
 * may use a twentieth of the slots for them. Above the limit a call is aborted and charged with its reserved
 * amount.
 */
export const abandonedCallsPerKeyMax = 100

/** Abandoned calls, whose callers disconnected, by the owner of the key's limits. */
export type AbandonedCalls = ReturnType<typeof createAbandonedCalls>

/** `onChange` receives each change of the number of abandoned calls. */
export function createAbandonedCalls(onChange: (change: 1 | -1) => void) {
  const owners = new Map<string, Set<Ending>>()
  return {
    /** Adds a call, which may then continue; returns false when its owner is at the limit. */
    add: (ending: Ending, ownerId: string) => {
      const known = owners.get(ownerId) ?? new Set()
      if (known.has(ending)) return true
      if (known.size >= abandonedCallsPerKeyMax) return false
      owners.set(ownerId, known.add(ending))
      onChange(1)
      return true
    },
    delete: (ending: Ending, ownerId: string) => {
      const known = owners.get(ownerId)
      if (known?.delete(ending) !== true) return
      if (known.size === 0) owners.delete(ownerId)
      onChange(-1)
    },
    /** Aborts all abandoned calls with a ProviderFailure. */
    endAll: (reason: Error) => {
      for (const known of owners.values()) for (const one of known) one.abort(reason)
    },
  }
}

/** Reference count of a resource, which is closed after its last user leaves. */
export type ReferenceCount = ReturnType<typeof createReferenceCount>

export function createReferenceCount() {
  let count = 0
  let onEmpty: (() => void) | undefined
  return {
    enter: () => {
      count++
    },
    leave: () => {
      count--
      if (count === 0) onEmpty?.()
    },
    /** Resolves with true when the count is 0, and with false after `timeoutMs`. */
    emptied: (timeoutMs: number) =>
      new Promise<boolean>((resolve) => {
        if (count === 0) return resolve(true)
        const late = setTimeout(resolve, timeoutMs, false)
        // The timer does not keep the process alive.
        late.unref()
        onEmpty = () => {
          clearTimeout(late)
          resolve(true)
        }
      }),
  }
}
