import { setTimeout as sleep } from 'node:timers/promises'
import type { Events } from '../telemetry/events.ts'

type Options = {
  events: Pick<Events, 'stuck' | 'stopped'>
  /** Waits `noticeMs`, stops accepting requests, and finishes requests in progress. */
  drain: (noticeMs?: number) => Promise<void>
  /** Closes the store and other resources. */
  close: () => Promise<void>
  /** Writes buffered log lines; the wait for a blocked reader is limited. */
  flush: () => Promise<void>
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

export function createStop(options: Options): Stop {
  const { events, drain, close, flush, drainTimeoutMs, exit } = options
  let isStopping = false
  const leave = async (code: number): Promise<void> => {
    await Promise.race([flush(), sleep(flushMs)])
    exit(code)
  }
  const end = async (code: number, noticeMs?: number): Promise<void> => {
    setTimeout(() => {
      events.stuck()
      void leave(1)
    }, drainTimeoutMs + closingMs)
    await drain(noticeMs)
    await close()
    events.stopped()
    await leave(code)
  }
  const stop = (code: number, noticeMs?: number): void => {
    if (isStopping) return
    isStopping = true
    void end(code, noticeMs)
  }
  return Object.assign(stop, { isStopping: () => isStopping, now: exit })
}
