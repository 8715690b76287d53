import type { EventEmitter } from 'node:events'
import { constants } from 'node:os'
import type { Stop } from './stop.ts'
import type { Events } from '../telemetry/events.ts'

type SignalEvents = Pick<Events, 'stopping' | 'crashed' | 'ignored'>
type Options = {
  events: SignalEvents
  stop: Stop
  /** Reads the settings again. */
  reload: () => void
}

/**
 * Stops the process on SIGTERM, SIGINT and uncaught exceptions, after calls in progress have finished.
 * The exit code is 0, or 1 after an exception. A second signal ends the process at once, with 128 plus
 * the signal's number. SIGHUP reloads the settings; SIGUSR1 and SIGUSR2 are ignored. A worker receives
 * the first three signals from its primary.
 */
export function obeySignals(
  { events, stop, reload }: Options,
  from: Pick<EventEmitter, 'on'> = process,
): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    from.on(signal, () => {
      if (stop.isStopping()) return stop.now(128 + constants.signals[signal])
      events.stopping(signal)
      // Ctrl+C stops without a pause, which only load balancers need.
      return stop(0, signal === 'SIGINT' ? 0 : undefined)
    })
  }
  from.on('SIGHUP', reload)
  // Also called for unhandled rejections.
  process.on('uncaughtException', (error) => {
    events.crashed(error)
    if (stop.isStopping()) stop.now(1)
    else stop(1, 0)
  })
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const)
    process.on(signal, () => events.ignored(signal))
}
