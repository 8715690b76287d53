import type { Log } from '../telemetry/log.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Events } from '../telemetry/events.ts'

type Options = {
  events: Pick<Events, 'stuck' | 'stopped'>
  /** Waits `noticeMs`, stops accepting requests, and finishes requests in progress. */
  drain: (noticeMs?: number) => Promise<void>
  /** Closes the store and other resources. */
  close: () => Promise<void>
  log: Pick<Log, 'flush'>
  drainTimeoutMs: number
  exit: (code: number) => void
}

/** Finishes requests in progress and exits with `code`, or with 1 if that takes too long. */
export type Stop = {
  (code: number, noticeMs?: number): void
  isStopping(): boolean
  /** Exits at once. */
  now(code: number): void
}

/** Time limit for writing the last rows and closing the store and log after the drain. */
export const closingMs = 10_000
const flushMs = 1000

/** Exits after the buffered log lines are written; the wait for a blocked reader is limited. */
export async function leave(log: Pick<Log, 'flush'>, exit: () => void): Promise<void> {
  const flushed = new Promise<void>((resolve) => log.flush(() => resolve()))
  await Promise.race([flushed, sleep(flushMs)])
  exit()
}

export function createStop(options: Options): Stop {
  const { events, drain, close, log, drainTimeoutMs, exit } = options
  let isStopping = false
  const end = async (code: number, noticeMs?: number): Promise<void> => {
    setTimeout(() => {
      events.stuck()
      void leave(log, () => exit(1))
    }, drainTimeoutMs + closingMs)
    await drain(noticeMs)
    await close()
    events.stopped()
    await leave(log, () => exit(code))
  }
  const stop = (code: number, noticeMs?: number): void => {
    if (isStopping) return
    isStopping = true
    void end(code, noticeMs)
  }
  return Object.assign(stop, { isStopping: () => isStopping, now: exit })
}
