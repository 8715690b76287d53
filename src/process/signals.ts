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
 * Ends the process on SIGTERM and SIGINT, and on a bug that nothing catches: what is under way is
 * finished first. The exit code is 0, after a bug 1; a second signal ends it at once, with 128 and
 * the signal's number. SIGHUP reloads the settings, and no other signal that has a use ends it.
 * A worker hears these three signals from its primary.
 */
export function obeySignals(
  { events, stop, reload }: Options,
  from: Pick<EventEmitter, 'on'> = process,
): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    from.on(signal, () => {
      if (stop.isStopping()) return stop.now(128 + constants.signals[signal])
      events.stopping(signal)
      // Who presses Ctrl+C has no balancer to be told of it.
      return stop(0, signal === 'SIGINT' ? 0 : undefined)
    })
  }
  from.on('SIGHUP', reload)
  // A rejection that nothing handles arrives here too.
  process.on('uncaughtException', (error) => {
    events.crashed(error)
    if (stop.isStopping()) stop.now(1)
    else stop(1, 0)
  })
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const)
    process.on(signal, () => events.ignored(signal))
}
