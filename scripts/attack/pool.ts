/** Runs tasks with so many things to run them with, one task a thing at a time. */
export type Pool<Thing> = {
  /** Resolves when the task has begun. */
  run(task: (thing: Thing) => Promise<void>): Promise<void>
  /** Resolves when every task is over. */
  idle(): Promise<void>
}

export function createPool<Thing>(things: readonly Thing[]): Pool<Thing> {
  const free = [...things]
  const running = new Set<Promise<void>>()
  return {
    run: async (task) => {
      while (free.length === 0) await Promise.race(running)
      const thing = free.pop()!
      const run = task(thing).finally(() => {
        running.delete(run)
        free.push(thing)
      })
      running.add(run)
    },
    idle: async () => {
      await Promise.all(running)
    },
  }
}
