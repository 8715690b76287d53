/** Whether what has failed is asked again: callers are spared the wait for what does not answer. */
export type Circuit = {
  /** After a failure: one question a while, until one succeeds. */
  allows(): boolean
  /** Whether nothing has failed since the last success. */
  isWhole(): boolean
  succeeded(): void
  failed(): void
}

/** `pauseMs`: how long nothing is asked after a failure. */
export function createCircuit(pauseMs: number, monotonic: () => number): Circuit {
  let asksAgainAt: number | undefined
  const pause = () => (asksAgainAt = monotonic() + pauseMs)
  return {
    allows: () => {
      if (asksAgainAt === undefined) return true
      if (monotonic() < asksAgainAt) return false
      pause()
      return true
    },
    isWhole: () => asksAgainAt === undefined,
    succeeded: () => (asksAgainAt = undefined),
    failed: pause,
  }
}
