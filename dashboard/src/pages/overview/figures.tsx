import type { Schemas } from '../../data/api.ts'
import { setQuery } from '../../data/place.ts'
import { Money } from '../../elements/money.tsx'
import { metrics, type Metric } from './metrics.ts'

type Sums = Schemas['UsageSums']
type Props = { now: Sums; before: Sums; chosen: Metric }

/** Sums of the range, each compared with the previous range. The plot shows the selected sum. */
export function Figures({ now, before, chosen }: Props) {
  return (
    <ul class="figures" aria-label="Sums; select one to plot">
      {metrics.map((metric) => (
        <li key={metric.name}>
          <button
            type="button"
            aria-pressed={metric === chosen}
            onClick={() => setQuery({ metric: metric.name })}
          >
            <span class="name">{metric.title}</span>
            <strong>
              {metric.usdOf === undefined ? (
                metric.format(metric.valueOf(now))
              ) : (
                <Money usd={metric.usdOf(now)} />
              )}
            </strong>
            <span class="change">{changeOf(metric, now, before)}</span>
          </button>
        </li>
      ))}
    </ul>
  )
}

function changeOf({ valueOf, format, isRate }: Metric, now: Sums, before: Sums): string {
  const [value, earlier] = [valueOf(now), valueOf(before)]
  if (before.calls === 0) return now.calls === 0 ? 'unchanged' : 'none before'
  if (isRate) return `${format(earlier)} before`
  if (earlier === 0) return value === 0 ? 'unchanged' : 'none before'
  const percent = Math.round((value / earlier - 1) * 100)
  if (percent === 0) return 'unchanged'
  if (percent > 1000) return `${format(earlier)} before`
  return percent > 0 ? `${percent}% more than before` : `${-percent}% less than before`
}
