type Options = {
  concurrentMax: number
  waitingMax: number
  /** The error of a task that would exceed `waitingMax`. */
  full: () => Error
}

/** Runs tasks in the order of their arrival, with limited concurrency and a bounded queue. */
export function createQueue({ concurrentMax, waitingMax, full }: Options) {
  let running = 0
  const waiting: (() => void)[] = []
  return async <T>(task: () => Promise<T>): Promise<T> => {
    if (running >= concurrentMax) {
      if (waiting.length >= waitingMax) throw full()
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else {
      running++
    }
    try {
      return await task()
    } finally {
      // The next task gets the slot of the ended task.
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }
}
