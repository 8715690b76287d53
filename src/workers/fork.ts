import cluster, { type Worker } from 'node:cluster'
import { constants } from 'node:os'
import { join } from 'node:path'
import { pipeOf } from '../peers/pipe.ts'
import type { WorkerId, WorkerLines } from '../peers/worker-lines.ts'
import { followConnections } from './handed-connections.ts'
import type { Start } from './start.ts'
import type { HowEnded, Supervised } from './supervisor.ts'

type Options = {
  lines: WorkerLines
  onFault: (error: unknown) => void
  onExit: (id: number, how: HowEnded) => void
  /** Whether a worker other than this one answers. */
  othersAnswer: (id: number) => boolean
}

/** Starts processes of `src/worker.ts`, which share the port of this one. */
export function createFork({ lines, onFault, onExit, othersAnswer }: Options) {
  const handOn = new Map<number, ReturnType<typeof followConnections>>()
  cluster.setupPrimary({
    exec: join(import.meta.dirname, '../worker.ts'),
    args: [],
    execArgv: [...process.execArgv, '--require', join(import.meta.dirname, 'orphan.ts')],
    serialization: 'advanced',
  })
  cluster.on('exit', ({ id }, code: number | null, signal: NodeJS.Signals | null) => {
    handOn.get(id)?.(othersAnswer(id))
    handOn.delete(id)
    onExit(id, { code, signal, signalNumber: signal ? constants.signals[signal] : 0 })
  })
  return (first: Omit<Start['start'], 'id'>): Supervised => {
    const worker = cluster.fork()
    // One that could not be started, or reached; its end is told beside.
    worker.on('error', onFault)
    worker.send({ start: { id: worker.id, ...first } } satisfies Start)
    lines.join(idOf(worker), pipeOf(worker))
    handOn.set(worker.id, followConnections(worker.process))
    return { ...idOf(worker), kill: (signal) => void worker.process.kill(signal) }
  }
}

function idOf({ id, process: { pid } }: Worker): WorkerId {
  // A process that cannot be started has none.
  return { id, pid: pid ?? 0 }
}
