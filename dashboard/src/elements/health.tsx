import type { Schemas } from '../data/api.ts'
import { shortDuration } from '../data/duration.ts'
import { shortCount } from '../data/money.ts'
import { Time } from './time.tsx'

type Measures = Schemas['AttemptMeasures']

/** Error rates above which a route is shown as a warning, and as failing. */
const [warnAbove, wrongAbove] = [0.02, 0.2]

/** Error rate of recent attempts, as a word with a colour. */
export function Health({ health }: { health: Measures }) {
  const { error_rate: rate } = health
  if (rate === null) return <span class="state">not used lately</span>
  if (rate === 0) return <span class="state good">healthy</span>
  const look = rate > wrongAbove ? 'wrong' : rate > warnAbove ? 'warn' : 'good'
  return <span class={`state ${look}`}>{percentText(rate)} failed</span>
}

/** Formats a share of 1 as a percentage; a small share is never shown as 0%. */
export function percentText(part: number): string {
  const percent = part * 100
  return percent > 0 && percent < 0.1 ? 'under 0.1%' : `${Number(percent.toFixed(1))}%`
}

/** Latency of successful attempts: median and 95th percentile. */
export function Latency({ health }: { health: Measures }) {
  const { median_ms: median, percentile_95_ms: slow } = health
  if (median === null || slow === null) return <span class="quiet">–</span>
  return (
    <span title="Median / 95th percentile of successful calls">
      {shortDuration(median)} <span class="quiet">/ {shortDuration(slow)}</span>
    </span>
  )
}

type CircuitProps = { circuit: Schemas['CircuitState']; until: string | null }

/** State of the circuit breaker of a route. */
export function Circuit({ circuit, until }: CircuitProps) {
  if (circuit === 'closed') return <span class="quiet">in use</span>
  if (circuit === 'half_open') return <span class="state warn">being tried again</span>
  return (
    <span class="state wrong">
      paused after failures{until !== null && ', tried again '}
      {until !== null && <Time at={until} />}
    </span>
  )
}

/** The sample that the measurements are based on. */
export function MeasuredOver({ measured }: { measured: Schemas['Measured'] | null }) {
  if (measured === null) {
    return (
      <p class="hint measured">
        No measurements at the moment, because the database is busy. The page tries again.
      </p>
    )
  }
  const { calls, is_whole: isWhole } = measured
  return (
    <p class="hint measured">
      {calls === 0
        ? 'No calls in the last hour.'
        : `Measured over ${isWhole ? '' : 'the latest '}${shortCount(calls)} ${calls === 1 ? 'call' : 'calls'} of the last hour, across all accounts.`}
    </p>
  )
}
