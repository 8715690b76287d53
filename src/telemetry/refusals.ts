import { GatewayError } from '../core/error.ts'
import { causeOf } from './cause.ts'
import type { Log } from './log.ts'

/**
 * The first refusal with a cause is logged at once. Further refusals within this time become one line with
 * their count.
 */
const windowMs = 10_000
/** Limit of counted causes, since some contain model names; other refusals are a line each. */
const causesMax = 100

export type LoggedRefusals = ReturnType<typeof createRefusals>

/** Logs refusals with status 503, which affect every call while the cause lasts. */
export function createRefusals(now: () => Log) {
  const counted = new Map<string, { code: string; cause: object; count: number }>()
  let timer: NodeJS.Timeout | undefined
  const settle = (): void => {
    clearTimeout(timer)
    timer = undefined
    for (const one of counted.values()) if (one.count > 0) now().warn(one, 'refused again')
    counted.clear()
  }
  return {
    /** Logs the counts now. */
    settle,
    /** Logs or counts a refusal, without its stack: its cause is the settings, the store or the load. */
    refused(log: Log, fields: object, error: unknown, message: string): void {
      const { stack: _stack, ...cause } = causeOf(error) as { stack?: unknown }
      const code = error instanceof GatewayError ? error.code : 'internal_error'
      const key = JSON.stringify([code, cause])
      const known = counted.get(key)
      if (known !== undefined) return void known.count++
      if (counted.size < causesMax) counted.set(key, { code, cause, count: 0 })
      timer ??= setTimeout(settle, windowMs).unref()
      log.warn({ ...fields, code, cause }, message)
    },
  }
}
