import type { Schemas } from '../data/api.ts'
import { shortDuration } from '../data/duration.ts'
import { shortCount } from '../data/money.ts'
import { Time } from './time.tsx'

type Measures = Schemas['AttemptMeasures']

/** So many failures of a hundred attempts are worth a warning, and so many are trouble. */
const [warnAbove, wrongAbove] = [0.02, 0.2]

/** How attempts have ended, as a word with its colour. */
export function Health({ health }: { health: Measures }) {
  const { error_rate: rate } = health
  if (rate === null) return <span class="state">not used lately</span>
  if (rate === 0) return <span class="state good">healthy</span>
  const look = rate > wrongAbove ? 'wrong' : rate > warnAbove ? 'warn' : 'good'
  return <span class={`state ${look}`}>{percentText(rate)} failed</span>
}

/** A part of 1 as a percentage; a small one is not told as none. */
export function percentText(part: number): string {
  const percent = part * 100
  return percent > 0 && percent < 0.1 ? 'under 0.1%' : `${Number(percent.toFixed(1))}%`
}

/** How long attempts took that succeeded. */
export function Latency({ health }: { health: Measures }) {
  const { median_ms: median, percentile_95_ms: slow } = health
  if (median === null || slow === null) return <span class="quiet">–</span>
  return (
    <span title="Half of those that succeeded took no longer; 95 of 100 took no longer">
      {shortDuration(median)} <span class="quiet">/ {shortDuration(slow)}</span>
    </span>
  )
}

type CircuitProps = { circuit: Schemas['CircuitState']; until: string | null }

/** Whether calls go to a route, or leave it alone because it has failed. */
export function Circuit({ circuit, until }: CircuitProps) {
  if (circuit === 'closed') return <span class="quiet">in use</span>
  if (circuit === 'half_open') return <span class="state warn">being tried again</span>
  return (
    <span class="state wrong">
      left alone{until !== null && ', tried again '}
      {until !== null && <Time at={until} />}
    </span>
  )
}

/** What measures rest on. */
export function MeasuredOver({ measured }: { measured: Schemas['Measured'] | null }) {
  if (measured === null) {
    return (
      <p class="hint measured">
        Nothing can be measured at the moment, since the store is busy. It is tried again.
      </p>
    )
  }
  const { calls, is_whole: isWhole } = measured
  return (
    <p class="hint measured">
      {calls === 0
        ? 'Nobody has called in the last hour.'
        : `Measured over ${isWhole ? 'all' : 'the latest'} ${shortCount(calls)} calls of the last hour, of all accounts.`}
    </p>
  )
}
