import { constants } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Events } from './telemetry/events.ts'

type Options = {
  events: Events
  /** Reads the settings again. */
  reload: () => void
  /** Takes no more work, after a notice of so long, and ends what is under way. */
  drain: (noticeMs?: number) => Promise<void>
  /** Closes what the work used. */
  close: () => Promise<void>
  /** Writes what the log still holds; who does not read it is not waited for. */
  flush: () => Promise<void>
  drainTimeoutMs: number
  exit: (code: number) => void
}

/** How long the last rows, the store and the log may take behind the drain. */
const closingMs = 10_000
const flushMs = 1000

/**
 * Ends the process on SIGTERM and SIGINT, and on a bug that nothing catches: what is under way is
 * finished first. The exit code is 0, after a bug 1; a second signal ends it at once, with 128 and
 * the signal's number. SIGHUP reloads the settings, and no other signal that has a use ends it.
 */
export function obeySignals({
  events,
  reload,
  drain,
  close,
  flush,
  drainTimeoutMs,
  exit,
}: Options): void {
  let isStopping = false
  const leave = async (code: number): Promise<void> => {
    await Promise.race([flush(), sleep(flushMs)])
    exit(code)
  }
  const stop = async (code: number, noticeMs?: number): Promise<void> => {
    isStopping = true
    setTimeout(() => {
      events.stuck()
      void leave(1)
    }, drainTimeoutMs + closingMs)
    await drain(noticeMs)
    await close()
    events.stopped()
    await leave(code)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (isStopping) return exit(128 + constants.signals[signal])
      events.stopping(signal)
      // Who presses Ctrl+C has no balancer to be told of it.
      return void stop(0, signal === 'SIGINT' ? 0 : undefined)
    })
  }
  // A rejection that nothing handles arrives here too.
  process.on('uncaughtException', (error) => {
    events.crashed(error)
    if (isStopping) exit(1)
    else void stop(1, 0)
  })
  process.on('SIGHUP', reload)
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const)
    process.on(signal, () => events.ignored(signal))
}
