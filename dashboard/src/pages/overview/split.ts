import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { colourOf, othersColour, partColour } from '../../data/colours.ts'
import type { Bar, Series } from '../../elements/chart.tsx'
import { addressOf } from '../../data/place.ts'
import type { Range, RangeOfTime } from '../../data/ranges.ts'
import { accountQuery } from '../../data/session.ts'
import type { Metric } from './metrics.ts'

type Group = Schemas['UsageGroup']
type Sums = Schemas['UsageSums']

/** Dimensions by which the plot can be split. */
export const splits = [
  { by: undefined, title: 'All together' },
  { by: 'model', title: 'By model' },
  { by: 'key', title: 'By key' },
  { by: 'provider', title: 'By provider' },
  { by: 'member', title: 'By person' },
  { by: 'tag', title: 'By tag' },
] as const
export type Split = (typeof splits)[number]['by']
export type Dimension = NonNullable<Split>

/** Query parameter of every usage report on this page. */
export type Asked = { mode: Schemas['Mode'] }

const pageRows = 100
/** Number of pages of groups read for one plot; with more groups the bars could not be distinguished. */
const pagesMax = 8
/** Number of groups with their own colour; all other groups are one series. */
const seriesMax = 7

/** The name of the group's model, key, provider or person. */
export function nameOfGroup(group: Group, by: Dimension): string {
  if (by === 'provider') return group.provider ?? 'no provider'
  if (by === 'member') return group.member_name ?? group.member ?? 'no person'
  if (by === 'tag') return group.tag ?? ''
  const name = by === 'model' ? group.model : (group.key_name ?? group.key)
  return name === undefined || name === '' ? 'unnamed' : name
}

/**
 * The filter of the requests page for a group. Undefined for calls without a provider or person, for which
 * the page has no filter.
 */
export function filterOf(group: Group, by: Dimension): Record<string, string> | undefined {
  const value = group[by]
  return value ? { [by === 'key' ? 'key_id' : by]: value } : undefined
}

/** Sums per step of the range and per group; `isWhole` is false when the groups exceed the limit. */
export async function loadSplit(
  range: RangeOfTime,
  by: Dimension,
  { mode }: Asked,
  signal: AbortSignal,
): Promise<{ groups: Group[]; isWhole: boolean }> {
  const groups: Group[] = []
  let cursor: string | null = null
  for (let page = 0; page < pagesMax; page++) {
    const query = {
      ...accountQuery(),
      ...range.now,
      mode,
      group_by: [range.unit, by],
      limit: pageRows,
      ...(cursor === null ? {} : { cursor }),
    }
    const report: Schemas['UsageReport'] = await bodyOf(
      GET('/api/usage', { params: { query }, signal }),
    )
    groups.push(...report.data)
    cursor = report.next_cursor
    if (cursor === null) return { groups, isWhole: true }
  }
  return { groups, isWhole: false }
}

/** The series, and a bar for each step of the range. */
export type Plotted = { series: Series[]; bars: Bar[] }

/** Plots a metric over time, with its parts as series when it has parts. */
export function plotOf(
  metric: Metric,
  groups: readonly Group[],
  range: RangeOfTime,
  { mode }: Asked,
): Plotted {
  const parts = metric.parts ?? [{ title: metric.title, valueOf: metric.valueOf }]
  const filters = metric.parts?.map(({ filter }) => filter) ?? []
  const byTime = new Map(groups.map((group) => [timeOf(group), group.sums]))
  return {
    series: parts.map(({ title }, index) => ({ name: title, colour: partColour(index) })),
    bars: range.steps.map((step) => {
      const sums = byTime.get(step.from)
      return {
        ...barAt(step, range, { mode, metric, filters }),
        values: parts.map(({ valueOf }) => (sums === undefined ? 0 : valueOf(sums))),
      }
    }),
  }
}

/** Plots a metric split by group: the largest groups as series, all other groups as one series. */
export function splitPlotOf(
  metric: Metric,
  groups: readonly Group[],
  range: RangeOfTime,
  { by, mode }: Asked & { by: Dimension },
): Plotted {
  // Rates of groups cannot be stacked, so the plot shows numbers of failed calls.
  const valueOf = metric.isRate ? (sums: Sums) => sums.failed_calls : metric.valueOf
  const totals = new Map<string, { group: Group; total: number }>()
  const values = new Map<string, number>()
  for (const group of groups) {
    const id = group[by] ?? ''
    const value = valueOf(group.sums)
    const { total } = totals.get(id) ?? { total: 0 }
    totals.set(id, { group, total: total + value })
    values.set(`${timeOf(group)} ${id}`, value)
  }
  const sorted = [...totals].toSorted(([, one], [, other]) => other.total - one.total)
  const own = sorted.slice(0, seriesMax)
  const rest = sorted.slice(seriesMax)
  const at = (time: string, id: string) => values.get(`${time} ${id}`) ?? 0
  const restAt = (time: string) => rest.reduce((sum, [id]) => sum + at(time, id), 0)
  const filters = own.map(([, { group }]) => filterOf(group, by))
  return {
    series: [
      ...own.map(([id, { group }]) => ({
        name: nameOfGroup(group, by),
        colour: colourOf(by, id),
      })),
      ...(rest.length > 0 ? [{ name: 'Others', colour: othersColour }] : []),
    ],
    bars: range.steps.map((step) => ({
      ...barAt(step, range, { mode, metric, filters }),
      values: [
        ...own.map(([id]) => at(step.from, id)),
        ...(rest.length > 0 ? [restAt(step.from)] : []),
      ],
    })),
  }
}

const labels = {
  hour: new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' }),
  // Labels days in UTC, since the gateway sums usage by days in UTC.
  day: new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' }),
  month: new Intl.DateTimeFormat(undefined, { month: 'short', year: 'numeric', timeZone: 'UTC' }),
}

type Counted = Asked & { metric: Metric; filters: readonly (Record<string, string> | undefined)[] }

/** Label of a bar, and the addresses of the requests that it and its parts count. */
function barAt(
  { from, to }: Range,
  { now, unit, steps }: RangeOfTime,
  { mode, metric, filters }: Counted,
): Omit<Bar, 'values'> {
  const at = new Date(from)
  // The first and the last month may lie partly outside of the range.
  const within = { from: from < now.from ? now.from : from, to: to > now.to ? now.to : to }
  const day = unit === 'hour' && steps.length > 24 ? `${labels.day.format(at)}, ` : ''
  const query = { mode, ...within, ...(metric.isRate && { outcome: 'failed' }) }
  return {
    label: `${day}${labels[unit].format(at)}`,
    href: addressOf('/requests', query),
    partHrefs: filters.map((filter) => addressOf('/requests', { ...query, ...filter })),
  }
}

function timeOf({ hour, day, month }: Group): string {
  return hour ?? day ?? month ?? ''
}
