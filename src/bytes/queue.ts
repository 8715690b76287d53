type Options = {
  concurrentMax?: number
  /** The most bytes that tasks may take together; a task that takes more runs alone. */
  bytesMax?: number
  waitingMax: number
  /** The error of a task that would exceed `waitingMax`. */
  full: () => Error
}

/** The bytes that a task takes, the end of its wait, and whether it waits even if the queue is full. */
type Turn = { bytes?: number; signal?: AbortSignal; mustWait?: boolean }

export type Queue = ReturnType<typeof createQueue>

/** Runs tasks in the order of their arrival, with limited concurrency and memory and a bounded queue. */
export function createQueue(options: Options) {
  const { concurrentMax = Infinity, bytesMax = Infinity, waitingMax, full } = options
  const waiting = new Set<{ bytes: number; start: () => void }>()
  let running = 0
  let taken = 0
  const serve = () => {
    for (const one of waiting) {
      const fits = running < concurrentMax && taken + one.bytes <= bytesMax
      if (running > 0 && !fits) return
      waiting.delete(one)
      running++
      taken += one.bytes
      one.start()
    }
  }
  /** Throws `full` when the next task would be refused. */
  const assertRoom = () => {
    const mustWait = waiting.size > 0 || running >= concurrentMax
    if (mustWait && waiting.size >= waitingMax) throw full()
  }
  /** Waits for a turn and returns its end. Rejects with `full`, or with the reason of the signal. */
  const enter = async ({ bytes = 0, signal, mustWait = false }: Turn = {}) => {
    signal?.throwIfAborted()
    if (!mustWait) assertRoom()
    const { promise, resolve: start, reject } = Promise.withResolvers<void>()
    const one = { bytes, start }
    waiting.add(one)
    serve()
    const leave = () => {
      if (waiting.delete(one)) reject(signal!.reason)
      serve()
    }
    signal?.addEventListener('abort', leave)
    await promise.finally(() => signal?.removeEventListener('abort', leave))
    return () => {
      running--
      taken -= bytes
      serve()
    }
  }
  const run = async <T>(task: () => Promise<T>, turn?: Turn): Promise<T> => {
    const end = await enter(turn)
    try {
      return await task()
    } finally {
      end()
    }
  }
  return { enter, run, assertRoom, waiting: () => waiting.size, taken: () => taken }
}
