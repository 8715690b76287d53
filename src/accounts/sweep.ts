/** Work that puts the store in order, again and again. */
export type Sweep = {
  /** Sweeps once, or waits for the sweep that is under way; done by itself. Never rejects. */
  look(): Promise<void>
  close(): void
}

type Options = {
  intervalMs: number
  /** Told of each sweep, and of why one failed: what is left waits for the next. */
  onSwept: (error?: unknown) => void
}

/**
 * Does this work every `intervalMs`, once at a time, until it is closed. The work gives whether it was this
 * process's turn to do it.
 */
export function sweepAgain(work: () => Promise<boolean>, { intervalMs, onSwept }: Options): Sweep {
  let running: Promise<unknown> | undefined
  let closed = false
  const look = async () => {
    running ??= work()
      .then((wasOurs) => {
        if (wasOurs) onSwept()
      })
      .catch((error: unknown) => {
        // The store may have closed before the last one was done.
        if (!closed) onSwept(error)
      })
      .finally(() => (running = undefined))
    await running
  }
  const timer = setInterval(() => void look(), intervalMs).unref()
  return {
    look,
    close: () => {
      closed = true
      clearInterval(timer)
    },
  }
}
