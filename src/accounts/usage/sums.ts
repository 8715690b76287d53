import { sql, type RawBuilder } from 'kysely'
import type { components } from '../../../generated/types.ts'
import { tagsOf, type SqlDialect } from '../../storage/sql-dialect.ts'
import { usageCountNames } from '../../core/money/price.ts'
import { startOf, type Grain } from '../../storage/migrations/usage-sums.ts'
import { hourMs, dayMs, type TimeRange } from './range.ts'

export type Dimension = components['schemas']['UsageDimension']
const tagList = sql`usage.tags`

/** SQL condition: the call has this tag. Tags need no escapes in JSON, so the list contains the quoted tag. */
export function tagged(dialect: SqlDialect, tag: string | undefined): RawBuilder<boolean> {
  const find = sql.raw(dialect === 'sqlite' ? 'instr' : 'strpos')
  return sql<boolean>`(tags is not null and ${find}(tags, ${`"${tag}"`}) > 0)`
}

/** Whether a report needs the tags of its calls, which only rows have. */
export function isByTag({ tag }: UsageFilter, groupBy: readonly Dimension[]): boolean {
  return tag !== undefined || groupBy.includes('tag')
}

type Filtered = Exclude<Dimension, 'hour' | 'day' | 'month'>
export type UsageFilter = { readonly [Name in Filtered]?: string | undefined }

/** The calls to sum up. */
export type Calls = TimeRange & {
  accountId: string
  mode: components['schemas']['Mode']
  filter: UsageFilter
}

/** Calls, and the end of the hours that the sums of days and months include. */
export type SummedCalls = Calls & { summedTo: number }

const expressions: Readonly<Record<Exclude<Dimension, 'day' | 'month'>, RawBuilder<unknown>>> = {
  hour: sql`hour_at`,
  model: sql.ref('model'),
  provider: sql.ref('provider'),
  key: sql.ref('key_id'),
  // The creator of the call's key. A report covers one account, so people of other accounts are not shown.
  member: sql`coalesce((select created_by from api_keys where api_keys.id = key_id), '')`,
  face: sql.ref('face'),
  modality: sql.ref('modality'),
  outcome: sql.ref('outcome'),
  tag: sql.ref('tag'),
}

export const timeDimensions: ReadonlySet<Dimension> = new Set(['hour', 'day', 'month'])

/** The columns that `usage` and `usage_hours` share. */
const shared = [...usageCountNames, 'duration_ms'] as const
/** The sums of these columns may exceed Number.MAX_SAFE_INTEGER. */
const amounts = ['cost_nano_usd', 'saved_nano_usd'] as const
const counts = ['calls', 'cached_calls', 'unpriced_calls', ...shared] as const
const counted = [...counts, ...amounts] as const

type Counts = (typeof counts)[number] | 'failed_calls'
/** The sums of a group by column; the amounts are decimal text. */
export type SumColumns = Record<Counts, number> & { cost: string; saved: string }

/** The select list for the columns of `sumsOf`. */
export function readColumns(groupBy: readonly Dimension[]): RawBuilder<unknown> {
  const names = [...groupBy.map((name) => `by_${name}`), ...counts, 'failed_calls']
  const asDigits = (name: (typeof amounts)[number], as: 'cost' | 'saved') =>
    sql`cast(${sql.ref(name)} as text) as ${sql.ref(as)}`
  return sql.join([
    ...names.map((name) => sql.ref(name)),
    asDigits('cost_nano_usd', 'cost'),
    asDigits('saved_nano_usd', 'saved'),
  ])
}

/** The query for the sums of each group of calls. */
export function sumsOf(
  dialect: SqlDialect,
  calls: SummedCalls,
  groupBy: readonly Dimension[],
): RawBuilder<unknown> {
  const expressionOf = (name: Dimension) =>
    name === 'day' || name === 'month'
      ? sql.raw(startOf(name, dialect, 'hour_at'))
      : expressions[name]
  const groups = groupBy.map((name) => sql`${expressionOf(name)} as ${sql.ref(`by_${name}`)}`)
  const sums = counted.map((name) => sql`coalesce(sum(${sql.ref(name)}), 0) as ${sql.ref(name)}`)
  const failed = sql`coalesce(sum(case when outcome = 'failed' then calls else 0 end), 0)`
  const by = groupBy.map((name) => sql.ref(`by_${name}`))
  return sql`
    select ${sql.join([...groups, ...sums, sql`${failed} as failed_calls`])}
    from (${sql.join(partsOf(dialect, calls, groupBy), sql` union all `)}) as parts
    ${by.length === 0 ? sql`` : sql`group by ${sql.join(by)}`}`
}

/**
 * Reads months and days that are summed up, whole hours from `usage_hours`, and the edges of the range row by row. With
 * PostgreSQL the deltas of late rows are not in days and months yet. Only rows have tags.
 */
function partsOf(
  dialect: SqlDialect,
  { summedTo, from, to, ...calls }: SummedCalls,
  groupBy: readonly Dimension[],
): RawBuilder<unknown>[] {
  const rowsOf = (range: TimeRange) => rowsIn(dialect, { ...calls, ...range }, groupBy)
  if (isByTag(calls.filter, groupBy)) return [rowsOf({ from, to })]
  const hours = wholeIn({ from, to }, 'hour')
  const summed = { from, to: groupBy.includes('hour') ? from : Math.min(to, summedTo) }
  const days = wholeIn(summed, 'day')
  const months = groupBy.includes('day') ? [] : days.flatMap((one) => wholeIn(one, 'month'))
  const grain = grainOf(groupBy, calls.filter)
  const sumsIn = (unit: 'day' | 'month') => (range: TimeRange) =>
    sql`${hoursIn('usage_sums', 'starts_at')(range)} and grain = ${`${unit}_${grain}`}`
  const hoursIn =
    (table: string, time = 'hour_at') =>
    (range: TimeRange) =>
      sql`
      select ${sql.ref(time)} as hour_at, key_id, model, provider, face, modality, outcome, ${columns(counted)}
      from ${sql.table(table)}
      where ${conditions(dialect, calls)} and ${sql.ref(time)} >= ${range.from} and ${sql.ref(time)} < ${range.to}`
  const edges = outside({ from, to }, hours)
  return [
    ...months.map(sumsIn('month')),
    ...days.flatMap((one) => outside(one, months)).map(sumsIn('day')),
    ...(dialect === 'postgres' ? days : []).map(hoursIn('usage_deltas')),
    ...hours.flatMap((one) => outside(one, days)).map(hoursIn('usage_hours')),
    // A query without parts would be invalid.
    ...(from < to ? edges : [{ from, to }]).map(rowsOf),
  ]
}

const longestMs = { hour: hourMs, day: dayMs, month: 31 * dayMs }

/** The part of a range that consists of whole units; none if it is empty. */
function wholeIn({ from, to }: TimeRange, unit: keyof typeof longestMs): TimeRange[] {
  const longest = longestMs[unit]
  const startOfUnit = (at: number): number => {
    const date = new Date(at)
    return unit === 'month'
      ? Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
      : Math.floor(at / longest) * longest
  }
  const start = startOfUnit(from)
  const first = start === from ? from : startOfUnit(start + longest)
  const end = startOfUnit(to)
  return first < end ? [{ from: first, to: end }] : []
}

/** The parts of a range outside an inner one. */
function outside({ from, to }: TimeRange, [inner]: readonly TimeRange[]): TimeRange[] {
  if (inner === undefined) return [{ from, to }]
  const parts = [
    { from, to: inner.from },
    { from: inner.to, to },
  ]
  return parts.filter((one) => one.from < one.to)
}

/** The grain with the fewest rows that has these dimensions. */
function grainOf(groupBy: readonly Dimension[], filter: UsageFilter): Grain {
  const filtered = Object.entries(filter).filter(([, value]) => value !== undefined)
  const used = new Set<string>([...groupBy, ...filtered.map(([name]) => name)])
  if (!used.has('model') && !used.has('provider')) return 'key'
  return used.has('key') || used.has('member') ? 'all' : 'model'
}

function rowsIn(
  dialect: SqlDialect,
  { from, to, ...calls }: Calls,
  groupBy: readonly Dimension[],
): RawBuilder<unknown> {
  const byTag = groupBy.includes('tag')
  const isTagged = isByTag(calls.filter, groupBy)
  return sql`
    select at - at % ${sql.lit(hourMs)} as hour_at, key_id, model,
      coalesce(provider, '') as provider, face, modality, outcome, 1 as calls,
      case when cache = 'hit' then 1 else 0 end as cached_calls,
      case when cost_nano_usd is null then 1 else 0 end as unpriced_calls, ${columns(shared)},
      coalesce(cost_nano_usd, 0) as cost_nano_usd, coalesce(saved_nano_usd, 0) as saved_nano_usd ${byTag ? sql`, tags_of_row.value as tag` : sql``}
    from usage ${isTagged && dialect === 'sqlite' ? sql`indexed by usage_tagged` : sql``}
      ${byTag ? sql`cross join ${tagsOf(dialect, tagList)}` : sql``}
    where ${isTagged ? sql`tags is not null and` : sql``} ${conditions(dialect, calls)} and at >= ${from} and at < ${to}`
}

function columns(names: readonly string[]): RawBuilder<unknown> {
  return sql.join(names.map((name) => sql.ref(name)))
}

/** The conditions on calls, valid for both tables; only `usage` has tags. */
export function conditions(
  dialect: SqlDialect,
  { accountId, mode, filter }: Omit<Calls, keyof TimeRange>,
): RawBuilder<boolean> {
  const filters = Object.entries(filter).filter(([, value]) => value !== undefined)
  return sql.join(
    [
      sql`account_id = ${accountId}`,
      sql`mode = ${mode}`,
      ...filters.map(([name, value]) => condition(dialect, name, value)),
    ],
    sql` and `,
  ) as RawBuilder<boolean>
}

function condition(
  dialect: SqlDialect,
  name: string,
  value: string | undefined,
): RawBuilder<unknown> {
  if (name === 'member') return madeBy(value)
  if (name === 'tag') return tagged(dialect, value)
  return sql`${sql.ref(name === 'key' ? 'key_id' : name)} = ${value}`
}

/** SQL condition: a key that this person created made the call. */
export function madeBy(personId: string | undefined): RawBuilder<boolean> {
  return sql<boolean>`key_id in (select id from api_keys where created_by = ${personId})`
}
