import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { useLoad } from '../../data/load.ts'
import { shortCount } from '../../data/money.ts'
import { place } from '../../data/place.ts'
import { modeInPlace } from '../../data/ranges.ts'
import { accountQuery } from '../../data/session.ts'
import { Bars } from '../../elements/bars.tsx'
import { Refusals } from '../../elements/refusals.tsx'
import { RangeChoice } from '../../elements/range-choice.tsx'
import { Toggle } from '../../elements/toggle.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { Figures } from './figures.tsx'
import { FirstSteps } from './first-steps.tsx'
import { Groups } from './groups.tsx'
import { metrics, type Metric } from './metrics.ts'
import { rangeUntil, type Range, type RangeOfTime } from './range.ts'
import { loadSplit, plotOf, splitPlotOf, splits, type Asked, type Split } from './split.ts'
import './overview.css'

type Report = Schemas['UsageReport']

/** Number of models and keys listed; an export contains all. */
const groupsMax = 20

const ask = (
  range: Range,
  groupBy: readonly Schemas['UsageDimension'][],
  { mode }: Asked,
  signal: AbortSignal,
) => {
  const isOverTime = groupBy.some((name) => name === 'hour' || name === 'day')
  const order = isOverTime
    ? ({ order_by: 'time', limit: 100 } as const)
    : ({ order_by: 'cost', limit: groupsMax } as const)
  const query = { ...accountQuery(), ...range, mode, group_by: [...groupBy], ...order }
  return bodyOf(GET('/api/usage', { params: { query }, signal }))
}

/** Cost and usage over time, by model and by key, compared with the previous range. */
export function Page() {
  const range = rangeUntil(Date.now())
  const mode = modeInPlace()
  const reports = useLoad(`overview ${range.now.from} ${range.now.to} ${mode}`, async (signal) => {
    const [byTime, byModel, byKey, before] = await Promise.all([
      ask(range.now, [range.unit], { mode }, signal),
      ask(range.now, ['model'], { mode }, signal),
      ask(range.now, ['key'], { mode }, signal),
      ask(range.before, [], { mode }, signal),
    ])
    return { byTime, byModel, byKey, before }
  })
  return (
    <>
      <div class="head">
        <h1>Overview</h1>
        <RangeChoice range={range.name} />
      </div>
      <Refusals mode={mode} lastMs={range.lastMs} />
      <WhenLoaded loaded={reports} what="Loading usage">
        {(all) => <Sums {...all} range={range} mode={mode} />}
      </WhenLoaded>
    </>
  )
}

type SumsProps = Asked & {
  range: RangeOfTime
  byTime: Report
  byModel: Report
  byKey: Report
  before: Report
}

function Sums({ byTime, byModel, byKey, before, range, mode }: SumsProps) {
  const { query } = place.value
  if (byTime.total.calls === 0 && before.total.calls === 0) return <FirstSteps mode={mode} />
  const metric = metrics.find(({ name }) => name === query.get('metric')) ?? metrics[0]!
  const split = splits.find(({ by }) => by === (query.get('split') ?? undefined))?.by
  const { unpriced_calls: unpriced } = byTime.total
  return (
    <>
      <Figures now={byTime.total} before={before.total} chosen={metric} />
      {unpriced > 0 && (
        <p class="hint">
          The cost of {shortCount(unpriced)} {unpriced === 1 ? 'request' : 'requests'} is unknown
          and not included in the sum.
        </p>
      )}
      <section class="card">
        <SplitChoice split={split} />
        {split === undefined ? (
          <Plot metric={metric} {...plotOf(metric, byTime.data, range)} />
        ) : (
          <SplitPlot {...{ metric, range, mode }} by={split} />
        )}
        {range.unit === 'day' && <p class="hint">Days start at midnight UTC.</p>}
      </section>
      <Groups title="By model" by="model" report={byModel} />
      <Groups title="By key" by="key" report={byKey} />
    </>
  )
}

function SplitChoice({ split }: { split: Split }) {
  return (
    <div class="row split" role="group" aria-label="Split the plot">
      {splits.map(({ by, title }) => (
        <Toggle key={title} isOn={split === by} change={{ split: by }}>
          {title}
        </Toggle>
      ))}
    </div>
  )
}

type PlotProps = { metric: Metric; caption?: string } & ReturnType<typeof plotOf>

function Plot({ metric, series, bars, caption = metric.title }: PlotProps) {
  return <Bars caption={caption} series={series} bars={bars} format={metric.format} />
}

type SplitPlotProps = Asked & { metric: Metric; range: RangeOfTime; by: 'model' | 'key' }

function SplitPlot({ metric, range, mode, by }: SplitPlotProps) {
  const loaded = useLoad(`split ${by} ${range.now.from} ${mode}`, (signal) =>
    loadSplit(range, by, { mode }, signal),
  )
  // The plot of a rate shows failed calls, so its values are formatted as counts.
  const plotted = metric.isRate ? { ...metric, format: shortCount } : metric
  return (
    <WhenLoaded loaded={loaded} what="Loading usage">
      {({ groups, isWhole }) => (
        <>
          <Plot
            metric={plotted}
            caption={metric.isRate ? 'Failed requests' : metric.title}
            {...splitPlotOf(metric, groups, range, by)}
          />
          {!isWhole && (
            <p class="hint">Too many groups to plot all of them. Choose a shorter range.</p>
          )}
        </>
      )}
    </WhenLoaded>
  )
}
