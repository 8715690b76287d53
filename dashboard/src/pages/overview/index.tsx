import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { useLoad } from '../../data/load.ts'
import { shortCount, shortUsd } from '../../data/money.ts'
import { place, setQuery } from '../../data/place.ts'
import { accountQuery } from '../../data/session.ts'
import { Bars, type Bar } from '../../elements/bars.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Waiting } from '../../elements/waiting.tsx'
import { Figures } from './figures.tsx'
import { Groups } from './groups.tsx'
import { rangeOf, ranges, type Range } from './range.ts'

type Dimension = Schemas['UsageDimension']
type Report = Schemas['UsageReport']

const ask = (range: Range, groupBy: readonly Dimension[], signal: AbortSignal) => {
  const mode = place.value.query.get('mode') === 'test' ? ('test' as const) : ('live' as const)
  const query = { ...accountQuery(), ...range, mode, group_by: [...groupBy], limit: 100 }
  return bodyOf(GET('/api/usage', { params: { query }, signal }))
}

/** What was spent and used: over time, by model and key, against the period before. */
export function Page() {
  const { query } = place.value
  const range = rangeOf(query.get('range'), Date.now())
  const key = `overview ${query.toString()} ${range.now.to}`
  const reports = useLoad(key, async (signal) => {
    const [byTime, byModel, byKey, before] = await Promise.all([
      ask(range.now, [range.unit], signal),
      ask(range.now, ['model'], signal),
      ask(range.now, ['key'], signal),
      ask(range.before, [], signal),
    ])
    return { byTime, byModel, byKey, before }
  })
  return (
    <>
      <div class="head">
        <h1>Overview</h1>
        <div class="row" role="group" aria-label="Range">
          {ranges.map(({ name, title }) => (
            <button
              key={name}
              type="button"
              class="plain small"
              aria-pressed={range.name === name}
              onClick={() => setQuery({ range: name })}
            >
              {title}
            </button>
          ))}
          <button
            type="button"
            class="plain small"
            aria-pressed={query.get('mode') === 'test'}
            onClick={() => setQuery({ mode: query.get('mode') === 'test' ? undefined : 'test' })}
          >
            Test keys
          </button>
        </div>
      </div>
      <Failure error={reports.error} again={reports.again} />
      {reports.data === undefined ? (
        reports.isLoading && <Waiting what="Adding up" />
      ) : (
        <>
          <Figures now={reports.data.byTime.total} before={reports.data.before.total} />
          <OverTime report={reports.data.byTime} range={range} />
          <div class="halves">
            <Groups title="By model" report={reports.data.byModel} nameOf={({ model }) => model} />
            <Groups
              title="By key"
              report={reports.data.byKey}
              nameOf={(group) => group.key_name ?? group.key}
            />
          </div>
        </>
      )}
    </>
  )
}

function OverTime({ report, range }: { report: Report; range: ReturnType<typeof rangeOf> }) {
  const sums = new Map(report.data.map((group) => [group.hour ?? group.day ?? '', group.sums]))
  const times = range.times()
  const bars = (valuesOf: (one: Schemas['UsageSums'] | undefined) => number[]): Bar[] =>
    times.map((at) => ({ label: range.labelOf(at), values: valuesOf(sums.get(at)) }))
  return (
    <div class="halves">
      <section class="card">
        <Bars
          caption="Spent"
          series={['Dollars']}
          bars={bars((one) => [Number(one?.cost.usd ?? 0)])}
          tell={(value) => shortUsd(value.toFixed(9))}
        />
      </section>
      <section class="card">
        <Bars
          caption="Calls"
          series={['From providers', 'From the cache', 'Failed']}
          bars={bars((one) =>
            one === undefined
              ? [0, 0, 0]
              : [
                  one.calls - one.cached_calls - one.failed_calls,
                  one.cached_calls,
                  one.failed_calls,
                ],
          )}
          tell={shortCount}
        />
      </section>
    </div>
  )
}
