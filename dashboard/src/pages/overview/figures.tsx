import type { Schemas } from '../../data/api.ts'
import { shortCount, shortUsd } from '../../data/money.ts'

type Sums = Schemas['UsageSums']

/** The sums of the range, each against that of the range before. */
export function Figures({ now, before }: { now: Sums; before: Sums }) {
  const rate = ({ failed_calls: failed, calls }: Sums) => (calls === 0 ? 0 : failed / calls)
  const tokens = (sums: Sums) => sums.input_tokens + sums.output_tokens
  return (
    <dl class="figures">
      <Figure
        name="Spent"
        value={shortUsd(now.cost.usd)}
        change={changeOf(Number(now.cost.usd), Number(before.cost.usd))}
      />
      <Figure
        name="Calls"
        value={shortCount(now.calls)}
        change={changeOf(now.calls, before.calls)}
      />
      <Figure
        name="Pictures"
        value={shortCount(now.images)}
        change={changeOf(now.images, before.images)}
      />
      <Figure
        name="Tokens"
        value={shortCount(tokens(now))}
        change={changeOf(tokens(now), tokens(before))}
      />
      <Figure
        name="From the cache"
        value={shortCount(now.cached_calls)}
        change={changeOf(now.cached_calls, before.cached_calls)}
      />
      <Figure
        name="Failed"
        value={`${(rate(now) * 100).toFixed(1)} %`}
        change={`${(rate(before) * 100).toFixed(1)} % before`}
      />
    </dl>
  )
}

function Figure({ name, value, change }: { name: string; value: string; change: string }) {
  return (
    <div class="card figure">
      <dt>{name}</dt>
      <dd>
        <strong>{value}</strong>
        <span class="quiet">{change}</span>
      </dd>
    </div>
  )
}

function changeOf(now: number, before: number): string {
  if (before === 0) return now === 0 ? 'as before' : 'nothing before'
  const percent = Math.round((now / before - 1) * 100)
  if (percent === 0) return 'as before'
  return percent > 0 ? `${percent} % more` : `${-percent} % less`
}
