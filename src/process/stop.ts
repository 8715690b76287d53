import { setTimeout as sleep } from 'node:timers/promises'
import type { Events } from '../telemetry/events.ts'

type Options = {
  events: Pick<Events, 'stuck' | 'stopped'>
  /** Takes no more work, after a notice of so long, and ends what is under way. */
  drain: (noticeMs?: number) => Promise<void>
  /** Closes what the work used. */
  close: () => Promise<void>
  /** Writes what the log still holds; who does not read it is not waited for. */
  flush: () => Promise<void>
  drainTimeoutMs: number
  exit: (code: number) => void
}

/** Finishes what is under way, and ends the process with that code; or with 1 when that takes too long. */
export type Stop = {
  (code: number, noticeMs?: number): void
  isStopping(): boolean
  /** At once. */
  now(code: number): void
}

/** How long the last rows, the store and the log may take behind the drain. */
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
