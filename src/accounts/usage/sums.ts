import { sql, type RawBuilder } from 'kysely'
import type { components } from '../../../generated/types.ts'
import type { SqlDialect } from '../../storage/sql-dialect.ts'
import { usageCountNames } from '../../core/money/price.ts'
import { hourMs, dayMs, type TimeRange } from './range.ts'

export type Dimension = components['schemas']['UsageDimension']
type Filtered = Exclude<Dimension, 'hour' | 'day' | 'month'>
export type UsageFilter = { readonly [Name in Filtered]?: string | undefined }

/** The calls to sum up. */
export type Calls = TimeRange & {
  accountId: string
  mode: components['schemas']['Mode']
  filter: UsageFilter
}

const expressions: Readonly<Record<Exclude<Dimension, 'month'>, RawBuilder<unknown>>> = {
  hour: sql`hour_at`,
  day: sql`hour_at - hour_at % ${sql.lit(dayMs)}`,
  model: sql.ref('model'),
  provider: sql.ref('provider'),
  key: sql.ref('key_id'),
  // The creator of the call's key. A report covers one account, so people of other accounts are not shown.
  member: sql`coalesce((select created_by from api_keys where api_keys.id = key_id), '')`,
  face: sql.ref('face'),
  modality: sql.ref('modality'),
  outcome: sql.ref('outcome'),
}

/** The start of an hour's month. */
const months: Readonly<Record<SqlDialect, RawBuilder<unknown>>> = {
  sqlite: sql`1000 * cast(strftime('%s', hour_at / 1000, 'unixepoch', 'start of month') as integer)`,
  postgres: sql`1000 * cast(
    extract(epoch from date_trunc('month', to_timestamp(hour_at / 1000), 'UTC')) as bigint)`,
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
  calls: Calls,
  groupBy: readonly Dimension[],
): RawBuilder<unknown> {
  const expressionOf = (name: Dimension) => (name === 'month' ? months[dialect] : expressions[name])
  const groups = groupBy.map((name) => sql`${expressionOf(name)} as ${sql.ref(`by_${name}`)}`)
  const sums = counted.map((name) => sql`coalesce(sum(${sql.ref(name)}), 0) as ${sql.ref(name)}`)
  const failed = sql`coalesce(sum(case when outcome = 'failed' then calls else 0 end), 0)`
  const by = groupBy.map((name) => sql.ref(`by_${name}`))
  return sql`
    select ${sql.join([...groups, ...sums, sql`${failed} as failed_calls`])}
    from (${sql.join(parts(calls), sql` union all `)}) as parts
    ${by.length === 0 ? sql`` : sql`group by ${sql.join(by)}`}`
}

/** Reads whole hours from `usage_hours`, and the edges of the range row by row. */
function parts({ from, to, ...calls }: Calls): RawBuilder<unknown>[] {
  const begin = Math.ceil(from / hourMs) * hourMs
  const end = Math.floor(to / hourMs) * hourMs
  if (begin > end) return [rowsIn({ ...calls, from, to })]
  return [
    hoursIn({ ...calls, from: begin, to: end }),
    ...(from < begin ? [rowsIn({ ...calls, from, to: begin })] : []),
    ...(end < to ? [rowsIn({ ...calls, from: end, to })] : []),
  ]
}

function hoursIn({ from, to, ...calls }: Calls): RawBuilder<unknown> {
  return sql`
    select hour_at, key_id, model, provider, face, modality, outcome, ${columns(counted)}
    from usage_hours
    where ${conditions(calls)} and hour_at >= ${from} and hour_at < ${to}`
}

function rowsIn({ from, to, ...calls }: Calls): RawBuilder<unknown> {
  return sql`
    select at - at % ${sql.lit(hourMs)} as hour_at, key_id, model,
      coalesce(provider, '') as provider, face, modality, outcome, 1 as calls,
      case when cache = 'hit' then 1 else 0 end as cached_calls,
      case when cost_nano_usd is null then 1 else 0 end as unpriced_calls, ${columns(shared)},
      coalesce(cost_nano_usd, 0) as cost_nano_usd, coalesce(saved_nano_usd, 0) as saved_nano_usd
    from usage
    where ${conditions(calls)} and at >= ${from} and at < ${to}`
}

function columns(names: readonly string[]): RawBuilder<unknown> {
  return sql.join(names.map((name) => sql.ref(name)))
}

/** The conditions on calls, valid for both tables. */
export function conditions({
  accountId,
  mode,
  filter,
}: Omit<Calls, keyof TimeRange>): RawBuilder<boolean> {
  const filters = Object.entries(filter).filter(([, value]) => value !== undefined)
  return sql.join(
    [
      sql`account_id = ${accountId}`,
      sql`mode = ${mode}`,
      ...filters.map(([name, value]) => condition(name, value)),
    ],
    sql` and `,
  ) as RawBuilder<boolean>
}

function condition(name: string, value: string | undefined): RawBuilder<unknown> {
  if (name === 'member') return madeBy(value)
  return sql`${sql.ref(name === 'key' ? 'key_id' : name)} = ${value}`
}

/** SQL condition: a key that this person created made the call. */
export function madeBy(personId: string | undefined): RawBuilder<boolean> {
  return sql<boolean>`key_id in (select id from api_keys where created_by = ${personId})`
}
