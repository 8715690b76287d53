import type { Worker } from 'node:cluster'
import type { PrimaryLine } from '../peers/primary-line.ts'
import { ignoreOthers, stopAtBugs } from '../signals.ts'
import type { Stop } from '../stop.ts'
import type { Events } from '../telemetry/events.ts'
import { topics } from './start.ts'

type Options = {
  stop: Stop
  events: Events
  reload: () => void
  primary: PrimaryLine
  /** This process, as `node:cluster` has it. */
  self: Pick<Worker, 'exitedAfterDisconnect'>
}

/**
 * Ends a worker when the primary asks for it, and when the primary is gone: what is under way is
 * finished first. Signals are left to the primary, since terminals and supervisors send them to all.
 */
export function obeyPrimary({ stop, events, reload, primary, self }: Options): void {
  primary.on(topics.drain, (message) => {
    const { noticeMs } = message as { noticeMs?: number }
    events.stopping('primary')
    stop(0, noticeMs)
  })
  primary.on(topics.reload, reload)
  // Before the listener of `node:cluster`, which ends a process at once that did not mean to leave.
  process.prependOnceListener('disconnect', () => {
    self.exitedAfterDisconnect = true
    events.primaryEnded()
    stop(0, 0)
  })
  stopAtBugs({
    events,
    stop: Object.assign(
      (code: number, noticeMs?: number) => {
        primary.tell(topics.leaving, null)
        stop(code, noticeMs)
      },
      { isStopping: stop.isStopping, now: stop.now },
    ),
  })
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined)
  ignoreOthers(events)
}
