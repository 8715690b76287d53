import { EventEmitter } from 'node:events'
import { GatewayError } from '../core/error.ts'
import { serve, type ServeOptions } from './serve.ts'
import { obeySignals } from './signals.ts'
import { StartError } from './start-failure.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Reading } from '../telemetry/worker-metrics.ts'

/** What the primary sends to a worker. */
export type ToWorker =
  | { kind: 'signal'; signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP' }
  /** Another worker writes the audit event of a reload. */
  | { kind: 'reread' }
  | { kind: 'all_listen' }
  | { kind: 'read_metrics' }
  /** The page that the worker asked for. */
  | { kind: 'metrics'; text: string }
/** What a worker sends to the primary. */
export type ToPrimary =
  | { kind: 'listening' }
  | { kind: 'port_closed' }
  | { kind: 'ask_metrics' }
  | { kind: 'metrics'; reading: Reading }

type Options = Pick<ServeOptions, 'settings' | 'readSettings' | 'exit' | 'print'> & {
  id: number
  isFirst: boolean
  /** Ends the process at its start. */
  fail: (error: Error) => void
}

/** The primary waits half as long for the workers. */
const metricsTimeoutMs = 1000

/**
 * Serves as one of several processes (docs/workers.md). Signals reach the primary alone, which passes
 * them on: terminals and supervisors send them to all processes. When the primary dies, the worker drains.
 */
export async function runWorker({ id, isFirst, fail, ...options }: Options): Promise<void> {
  let allListen = false
  const signals = new EventEmitter()
  const orphaned = () => fail(new StartError('The primary process ended. Start it again.'))
  if (!process.connected) return orphaned()
  process.once('disconnect', orphaned)
  hear('all_listen', () => (allListen = true))
  hear('signal', ({ signal }) => signals.emit(signal))
  await serve({
    ...options,
    worker: {
      id,
      isFirst,
      allListen: () => allListen,
      portClosed: () => tell({ kind: 'port_closed' }),
      sumMetrics,
    },
    obey: ({ stop, events, reload, reread }) => {
      process.off('disconnect', orphaned)
      process.once('disconnect', () => {
        events.primaryEnded()
        stop(0, 0)
      })
      obeySignals({ stop, events, reload }, signals)
      for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
        process.on(signal, () => undefined)
      hear('reread', reread)
    },
  })
  tell({ kind: 'listening' })
}

/** Gives the primary the metrics of this process on demand, and reads the sum of all from it. */
function sumMetrics({ contentType, readObjects }: Pick<Metrics, 'contentType' | 'readObjects'>) {
  let arrived: ((text: string) => void) | undefined
  hear('read_metrics', () => {
    void readObjects().then((reading) => tell({ kind: 'metrics', reading }))
  })
  hear('metrics', ({ text }) => arrived?.(text))
  return () =>
    new Promise<Awaited<ReturnType<Metrics['read']>>>((resolve, reject) => {
      const late = new GatewayError('overloaded', 'The primary process does not answer in time.')
      const timer = setTimeout(reject, metricsTimeoutMs, late)
      arrived = (text) => {
        clearTimeout(timer)
        resolve({ contentType, text })
      }
      tell({ kind: 'ask_metrics' })
    })
}

function hear<Kind extends ToWorker['kind']>(
  kind: Kind,
  listener: (message: Extract<ToWorker, { kind: Kind }>) => void,
): void {
  process.on('message', (message: ToWorker) => {
    // The compiler does not see that the kinds are the same.
    if (message.kind === kind) listener(message as Extract<ToWorker, { kind: Kind }>)
  })
}

/** A primary that ended needs to know nothing. */
function tell(message: ToPrimary): void {
  process.send!(message, undefined, undefined, () => undefined)
}
