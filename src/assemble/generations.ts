import type { Generation } from './generation.ts'

/** The generation that answers, and those before it whose calls have not ended yet. */
export type Generations = {
  /** Throws before the first. */
  current(): Generation
  /** From here on this one answers; the one before it ends behind its last call. */
  begin(next: Generation): void
  /** Ends all of them, to be called when no call is left. */
  close(): Promise<void>
}

export function createGenerations(): Generations {
  let current: Generation | undefined
  const ending = new Set<Promise<void>>()
  const end = (generation: Generation, timeoutMs: number): void => {
    const ended = generation.end(timeoutMs).finally(() => ending.delete(ended))
    ending.add(ended)
  }
  return {
    current: () => {
      if (current === undefined) throw new Error('There are no settings yet.')
      return current
    },
    begin: (next) => {
      const before = current
      current = next
      if (before !== undefined) end(before, endTimeoutMs(before))
    },
    close: async () => {
      if (current !== undefined) end(current, 0)
      await Promise.all(ending)
    },
  }
}

/** No call lasts longer than the longer of its two deadlines. */
function endTimeoutMs({ config: { limits } }: Generation): number {
  return Math.max(limits.chatTimeoutMs, limits.imageTimeoutMs)
}
