import { EventEmitter } from 'node:events'
import { GatewayError } from '../core/error.ts'
import { serve, type ServeOptions } from './serve.ts'
import { obeySignals } from './signals.ts'
import { StartError } from './start-failure.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Reading } from '../telemetry/worker-metrics.ts'

/** Messages from the primary to a worker. */
export type ToWorker =
  | { kind: 'signal'; signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP' }
  /** Reload without an audit event, which another worker writes. */
  | { kind: 'reread' }
  | { kind: 'all_listen' }
  | { kind: 'read_metrics' }
  /** Answer to `ask_metrics`. */
  | { kind: 'metrics'; text: string }
/** Messages from a worker to the primary. */
export type ToPrimary =
  | { kind: 'listening' }
  | { kind: 'port_closed' }
  | { kind: 'ask_metrics' }
  | { kind: 'metrics'; reading: Reading }

type Options = Pick<ServeOptions, 'settings' | 'readSettings' | 'exit' | 'print'> & {
  id: number
  isFirst: boolean
  /** Ends the process if the start fails. */
  fail: (error: Error) => void
}

/** Time limit of a metrics answer: twice as long as the primary waits for its workers. */
const metricsTimeoutMs = 1000

/**
 * Serves as one of several workers (docs/workers.md). Terminals send signals to all processes, so a
 * worker ignores them and obeys only the primary's messages. If the primary dies, the worker drains.
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
      portClosed: () => send({ kind: 'port_closed' }),
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
  send({ kind: 'listening' })
}

/** Sends this worker's metrics to the primary on demand; the returned function reads the sum of all workers. */
function sumMetrics({ contentType, readObjects }: Pick<Metrics, 'contentType' | 'readObjects'>) {
  let arrived: ((text: string) => void) | undefined
  hear('read_metrics', () => {
    void readObjects().then((reading) => send({ kind: 'metrics', reading }))
  })
  hear('metrics', ({ text }) => arrived?.(text))
  return () =>
    new Promise<Awaited<ReturnType<Metrics['read']>>>((resolve, reject) => {
      const late = new GatewayError(
        'overloaded',
        'The primary process did not answer in time. Try again in a moment.',
      )
      const timer = setTimeout(reject, metricsTimeoutMs, late)
      arrived = (text) => {
        clearTimeout(timer)
        resolve({ contentType, text })
      }
      send({ kind: 'ask_metrics' })
    })
}

function hear<Kind extends ToWorker['kind']>(
  kind: Kind,
  listener: (message: Extract<ToWorker, { kind: Kind }>) => void,
): void {
  process.on('message', (message: ToWorker) => {
    // TypeScript cannot infer that the kinds are equal.
    if (message.kind === kind) listener(message as Extract<ToWorker, { kind: Kind }>)
  })
}

/** Sends a message; errors are ignored, since the primary may have ended. */
function send(message: ToPrimary): void {
  process.send!(message, undefined, undefined, () => undefined)
}
