import type { components } from '../../generated/types.ts'
import type { Attempt } from './resilience/failover.ts'
import { isProvidersFault } from './failure.ts'

/** An attempt with the start of its call, Unix time in milliseconds. */
export type TimedAttempt = Attempt & { at: number }

/** Measurements and attempts of recent calls. */
export type RecentAttempts = {
  measured: components['schemas']['Measured']
  attempts: readonly TimedAttempt[]
}

/** Success rate and latency of attempts, in the contract's form. Errors of callers do not count. */
export function measuresOf(attempts: readonly Attempt[]): components['schemas']['AttemptMeasures'] {
  const failures = attempts.filter(isFailure).length
  const durations = attempts
    .filter(({ outcome }) => outcome === 'ok')
    .map(({ durationMs }) => durationMs)
    .toSorted((a, b) => a - b)
  const telling = durations.length + failures
  return {
    attempts: telling,
    failures,
    error_rate: telling === 0 ? null : failures / telling,
    median_ms: percentileOf(durations, 0.5),
    percentile_95_ms: percentileOf(durations, 0.95),
  }
}

/** Whether an attempt failed because of the provider. */
export function isFailure({ outcome }: Attempt): boolean {
  return outcome !== 'ok' && isProvidersFault(outcome)
}

/** The nearest-rank percentile of sorted values, rounded; null for an empty list. `part` is from 0 to 1. */
function percentileOf(sorted: readonly number[], part: number): number | null {
  const value = sorted[Math.ceil(sorted.length * part) - 1]
  return value === undefined ? null : Math.round(value)
}
