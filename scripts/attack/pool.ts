/** Runs tasks on a fixed pool of workers, one task per worker. */
export type Pool<Worker> = {
  /** Waits for a free worker; resolves when the task has started. */
  run(task: (worker: Worker) => Promise<void>): Promise<void>
  /** Resolves when all tasks have ended. */
  idle(): Promise<void>
}

export function createPool<Worker>(workers: readonly Worker[]): Pool<Worker> {
  const free = [...workers]
  const running = new Set<Promise<void>>()
  return {
    run: async (task) => {
      while (free.length === 0) await Promise.race(running)
      const worker = free.pop()!
      const run = task(worker).finally(() => {
        running.delete(run)
        free.push(worker)
      })
      running.add(run)
    },
    idle: async () => {
      await Promise.all(running)
    },
  }
}
