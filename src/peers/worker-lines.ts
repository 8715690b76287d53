import { createLine, createRegistry, LineError, type Line, type LineLimits } from './line.ts'
import type { Topics } from './line.ts'
import type { Pipe } from './pipe.ts'

/** A worker, as the primary knows it. */
export type WorkerId = { readonly id: number; readonly pid: number }

/** A worker has ended, for certain: what it held can be given back. Told to one that goes on. */
export const workerEnded = 'worker_ended'

/** The primary's end of the lines to all workers. */
export type WorkerLines = Topics<WorkerId> & {
  /** Those that are there, in the order in which they began. */
  workers(): readonly WorkerId[]
  /** Resolves with the worker's answer. Throws a LineError. */
  ask(worker: WorkerId, topic: string, question: unknown): Promise<unknown>
  /** Tells one worker, or all. */
  tell(topic: string, message: unknown, to?: WorkerId): void
  /** Hears which worker has ended. */
  onEnded(listener: (worker: WorkerId) => void): void
  /** A further worker. */
  join(worker: WorkerId, pipe: Pipe): void
}

type Options = {
  limits: LineLimits
  monotonic: () => number
  onFault: (error: unknown) => void
}

/** Joins the primary to its workers. */
export function createWorkerLines(options: Options): WorkerLines {
  const registry = createRegistry<WorkerId>()
  const lines = new Map<number, { worker: WorkerId; line: Line }>()
  const endListeners: ((worker: WorkerId) => void)[] = []
  return {
    answer: registry.answer,
    on: registry.on,
    workers: () => [...lines.values()].map(({ worker }) => worker),
    ask: async ({ id }, topic, question) => {
      const joined = lines.get(id)
      if (joined === undefined) throw new LineError('ended')
      return joined.line.ask(topic, question)
    },
    tell: (topic, message, to) => {
      if (to !== undefined) return lines.get(to.id)?.line.tell(topic, message)
      for (const { line } of lines.values()) line.tell(topic, message)
    },
    onEnded: (listener) => {
      endListeners.push(listener)
    },
    join: (worker, pipe) => {
      lines.set(worker.id, {
        worker,
        line: createLine({ ...options, pipe, registry, sender: worker }),
      })
      pipe.onEnd(() => {
        lines.delete(worker.id)
        for (const listener of endListeners) listener(worker)
      })
    },
  }
}
