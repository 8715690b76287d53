import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { useLoad, type Loaded } from '../../data/load.ts'
import { shortCount } from '../../data/money.ts'
import { place } from '../../data/place.ts'
import { modeInPlace, rangeInPlace, type Range, type RangeOfTime } from '../../data/ranges.ts'
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
import { Pace } from './pace.tsx'
import { loadSplit, plotOf, splitPlotOf, splits, type Asked, type Dimension } from './split.ts'
import './overview.css'

type Report = Schemas['UsageReport']

/** Number of groups listed; an export contains all. */
const groupsMax = 20

const ask = (
  range: Range,
  groupBy: readonly Schemas['UsageDimension'][],
  { mode }: Asked,
  signal: AbortSignal,
) => {
  const isOverTime = groupBy.some((name) => name === 'hour' || name === 'day' || name === 'month')
  const order = isOverTime
    ? ({ order_by: 'time', limit: 100 } as const)
    : ({ order_by: 'cost', limit: groupsMax } as const)
  const query = { ...accountQuery(), ...range, mode, group_by: [...groupBy], ...order }
  return bodyOf(GET('/api/usage', { params: { query }, signal }))
}

/** Cost and usage over time, and by model, key, provider or person, compared with the previous range. */
export function Page() {
  const range = rangeInPlace('month')
  const mode = modeInPlace()
  const split = splits.find(({ by }) => by === (place.value.query.get('split') ?? undefined))
  const by = split?.by ?? 'model'
  const key = `${range.now.from} ${range.now.to} ${mode}`
  const reports = useLoad(`overview ${key}`, async (signal) => {
    const [byTime, before] = await Promise.all([
      ask(range.now, [range.unit], { mode }, signal),
      ask(range.before, [], { mode }, signal),
    ])
    return { byTime, before }
  })
  const groups = useLoad(`groups ${by} ${key}`, (signal) => ask(range.now, [by], { mode }, signal))
  return (
    <>
      <div class="head">
        <h1>Overview</h1>
        <RangeChoice range={range} />
      </div>
      <Refusals mode={mode} range={range.now} />
      <WhenLoaded loaded={reports} what="Loading usage">
        {(all) => <Sums {...all} {...{ range, mode, groups }} split={split?.by} />}
      </WhenLoaded>
    </>
  )
}

type SumsProps = Asked & {
  range: RangeOfTime
  byTime: Report
  before: Report
  groups: Loaded<Report>
  split: Dimension | undefined
}

function Sums({ byTime, before, groups, range, mode, split }: SumsProps) {
  if (byTime.total.calls === 0 && before.total.calls === 0) return <FirstSteps mode={mode} />
  const metric = metrics.find(({ name }) => name === place.value.query.get('metric')) ?? metrics[0]!
  const by = split ?? 'model'
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
      {mode === 'live' && <Pace range={range} />}
      <section class="card">
        <div class="row split">
          <div class="segments" role="group" aria-label="Split the plot">
            {splits.map((one) => (
              <Toggle key={one.title} isOn={split === one.by} change={{ split: one.by }}>
                {one.title}
              </Toggle>
            ))}
          </div>
          <Export {...{ range, mode, split }} />
        </div>
        {split === undefined ? (
          <Plot metric={metric} {...plotOf(metric, byTime.data, range, { mode })} />
        ) : (
          <SplitPlot {...{ metric, range, mode }} by={split} />
        )}
        {range.unit !== 'hour' && (
          <p class="hint">{range.unit === 'day' ? 'Days' : 'Months'} start at midnight UTC.</p>
        )}
      </section>
      <WhenLoaded loaded={groups} what="Loading usage">
        {(report) => (
          <Groups title={splits.find((one) => one.by === by)!.title} by={by} report={report} />
        )}
      </WhenLoaded>
    </>
  )
}

/** A link to the numbers of the plot as a file. */
function Export({ range, mode, split }: Pick<SumsProps, 'range' | 'mode' | 'split'>) {
  const query = new URLSearchParams({
    ...accountQuery(),
    ...range.now,
    mode,
    group_by: [range.unit, ...(split === undefined ? [] : [split])].join(),
    format: 'csv',
  })
  return (
    <a class="button plain small" href={`/api/usage/export?${query.toString()}`} download>
      Download CSV
    </a>
  )
}

type PlotProps = { metric: Metric; caption?: string } & ReturnType<typeof plotOf>

function Plot({ metric, series, bars, caption = metric.title }: PlotProps) {
  const { format, isCount } = metric
  return <Bars {...{ caption, series, bars, format, isCount }} />
}

type SplitPlotProps = Asked & { metric: Metric; range: RangeOfTime; by: Dimension }

function SplitPlot({ metric, range, mode, by }: SplitPlotProps) {
  const loaded = useLoad(`split ${by} ${range.now.from} ${range.now.to} ${mode}`, (signal) =>
    loadSplit(range, by, { mode }, signal),
  )
  // The plot of a rate shows failed calls, so its values are formatted as counts.
  const plotted = metric.isRate ? { ...metric, format: shortCount, isCount: true } : metric
  return (
    <WhenLoaded loaded={loaded} what="Loading usage">
      {({ groups, isWhole }) => (
        <>
          <Plot
            metric={plotted}
            caption={metric.isRate ? 'Failed requests' : metric.title}
            {...splitPlotOf(metric, groups, range, { by, mode })}
          />
          {!isWhole && (
            <p class="hint">Too many groups to plot all of them. Choose a shorter range.</p>
          )}
        </>
      )}
    </WhenLoaded>
  )
}
