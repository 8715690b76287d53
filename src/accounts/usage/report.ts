import { sql, type Kysely, type RawBuilder } from 'kysely'
import type { components } from '../../../generated/types.ts'
import { pageOf, placeIn, type Page, type PageRequest } from '../../core/page.ts'
import { moneySumOf } from '../../core/money/price.ts'
import { summedTo } from '../../storage/fold-deltas.ts'
import type { Reader } from '../../storage/reader.ts'
import { sqlDialectOf } from '../../storage/sql-dialect.ts'
import type { Tables } from '../../storage/tables.ts'
import { countsIn } from '../ledger.ts'
import { assertReportable } from './archived.ts'
import { dayMs, hourMs, timeRange } from './range.ts'
import {
  readColumns,
  sumsOf,
  timeDimensions,
  type Calls,
  type Dimension,
  type SumColumns,
  type SummedCalls,
  type UsageFilter,
} from './sums.ts'

type Schemas = components['schemas']
type Group = Schemas['UsageGroup']

/** The calls of an account in a range; the texts are the contract's parameters, unparsed. */
export type ReportedRange = {
  accountId: string
  mode: Schemas['Mode']
  from?: string | undefined
  to?: string | undefined
}

export type ReportRequest = Omit<PageRequest, 'limit'> &
  ReportedRange & {
    filter: UsageFilter
    groupBy: readonly Dimension[]
    orderBy: 'time' | 'cost'
  }

export type UsageReports = ReturnType<typeof createUsageReports>

export type ReportOptions = { reader: Reader; clock: () => number }

/** Usage reports, read through the reader's own connections. */
export function createUsageReports({ reader, clock }: ReportOptions) {
  return {
    /** The sums of a range and one page of its groups. Throws a GatewayError. */
    report: async (request: ReportRequest, limit: number): Promise<Schemas['UsageReport']> => {
      const { accountId, mode, filter, groupBy } = request
      const range = timeRange(request, clock())
      const calls: Calls = { ...range, accountId, mode, filter }
      const end = reader.begin(accountId)
      const [total, page] = await read(reader.db, { request, calls, limit }).finally(end)
      const { data, has_more, next_cursor } = page
      const head = { account_id: accountId, mode, ...rangeText(range), group_by: [...groupBy] }
      return { object: 'usage_report', ...head, total, data, has_more, next_cursor }
    },
  }
}

/** A range in the contract's form. */
export function rangeText({ from, to }: { from: number; to: number }) {
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
}

/** Reads the total and the groups in one transaction, so that they agree. */
function read(db: Kysely<Tables>, request: GroupsRequest<Calls>) {
  return db.transaction().execute(async (transaction) => {
    await assertReportable(transaction, request.calls, request.request.groupBy)
    const calls = { ...request.calls, summedTo: await summedTo(transaction) }
    const { rows } = await sql<SumColumns>`
      select ${readColumns([])} from (${sumsOf(sqlDialectOf(db), calls, [])}) as sums`.execute(
      transaction,
    )
    return [sumsText(rows[0]!), await groupsOf(transaction, { ...request, calls })] as const
  })
}

type GroupsRequest<Read = SummedCalls> = { request: ReportRequest; calls: Read; limit: number }
type GroupColumns = SumColumns & { readonly [Name in `by_${Dimension}`]?: string | number }

/** One page of the groups of a report. */
export async function groupsOf(
  db: Kysely<Tables>,
  { request, calls, limit }: GroupsRequest,
): Promise<Page<Group>> {
  const { cursor, order } = request
  const places = placesOf(request)
  const columns = sql.join(places.map(({ sorted }) => sorted))
  const kinds = places.map(({ kind }) => kind)
  const place = cursor === undefined ? undefined : placeIn(cursor, kinds)
  const left = place === undefined ? calls : leftOf(calls, request, place[0]!)
  const direction = sql.raw(order)
  const { rows } = await sql<GroupColumns>`
    select ${readColumns(request.groupBy)} from (${sumsOf(sqlDialectOf(db), left, request.groupBy)}) as sums
    where calls > 0 ${place === undefined ? sql`` : beyond(columns, order, valuesOf(places, place))}
    order by ${sql.join(places.map(({ sorted }) => sql`${sorted} ${direction}`))}
    limit ${limit + 1}
  `.execute(db)
  const names = await namesOf(db, calls.accountId, rows)
  return pageOf(rows, limit, {
    placeOf: (row) => places.map(({ column }) => row[column]!),
    toItem: (row) => groupText(row, request.groupBy, names),
  })
}

function beyond(
  columns: RawBuilder<unknown>,
  order: 'asc' | 'desc',
  values: readonly RawBuilder<unknown>[],
): RawBuilder<unknown> {
  return sql`and (${columns}) ${sql.raw(order === 'asc' ? '>' : '<')} (${sql.join(values)})`
}

type Place = {
  column: Exclude<keyof GroupColumns, symbol>
  kind: 'string' | 'number'
  /** The SQL expression of the sort order. */
  sorted: RawBuilder<unknown>
}

/** The values of a cursor as SQL; a cost is decimal text in a cursor too. */
function valuesOf(places: readonly Place[], values: readonly (string | number)[]) {
  return places.map(({ column }, index) => {
    const value = values[index]!
    if (column !== 'cost') return sql`${value}`
    const digits = /^-?\d{1,18}$/.test(String(value)) ? value : '0'
    return sql`cast(${digits} as bigint)`
  })
}

/** The columns that groups are sorted by; together they are unique for each group. */
function placesOf({ groupBy, orderBy }: ReportRequest): Place[] {
  const sorted = groupBy.toSorted((a, b) => weight(a) - weight(b))
  const groups = sorted.map((name): Place => {
    const column = `by_${name}` as const
    const kind = timeDimensions.has(name) ? 'number' : 'string'
    return { column, kind, sorted: sql.ref(column) }
  })
  const byCost = orderBy === 'cost' || groups.length === 0
  const cost: Place = { column: 'cost', kind: 'string', sorted: sql.ref('cost_nano_usd') }
  return byCost ? [cost, ...groups] : groups
}

function weight(name: Dimension): number {
  return timeDimensions.has(name) ? 0 : 1
}

const unitMs: Partial<Record<Dimension, number>> = { hour: hourMs, day: dayMs, month: 31 * dayMs }

/** The calls of the remaining groups: times that earlier pages listed are not read again. */
function leftOf(calls: SummedCalls, request: ReportRequest, first: string | number): SummedCalls {
  const { column } = placesOf(request)[0]!
  const unit = unitMs[column.slice('by_'.length) as Dimension]
  if (unit === undefined || typeof first !== 'number') return calls
  const at = Math.min(Math.max(Math.floor(first / hourMs) * hourMs, calls.from), calls.to)
  if (request.order === 'asc') return { ...calls, from: at }
  return { ...calls, to: Math.min(at + unit, calls.to) }
}

/** The names of the keys and of the members among the groups, by their ids. */
async function namesOf(
  db: Kysely<Tables>,
  accountId: string,
  rows: readonly GroupColumns[],
): Promise<ReadonlyMap<string, string>> {
  const idsOf = (column: 'by_key' | 'by_member') => [
    ...new Set(rows.flatMap(({ [column]: id = '' }) => (id === '' ? [] : [String(id)]))),
  ]
  const [keyIds, personIds] = [idsOf('by_key'), idsOf('by_member')]
  const keys = db.selectFrom('api_keys').select(['id', 'name']).where('account_id', '=', accountId)
  const people = db.selectFrom('people').select(['id', 'name'])
  const found = [
    ...(keyIds.length === 0 ? [] : await keys.where('id', 'in', keyIds).execute()),
    ...(personIds.length === 0 ? [] : await people.where('id', 'in', personIds).execute()),
  ]
  return new Map(found.map(({ id, name }) => [id, name]))
}

/** Dimensions without a value for some calls: no provider answered, or the key has no creator. */
const mayBeNull: ReadonlySet<Dimension> = new Set(['provider', 'member'])

function groupText(
  row: GroupColumns,
  groupBy: readonly Dimension[],
  names: ReadonlyMap<string, string>,
): Group {
  const group: Record<string, unknown> = { object: 'usage_group' }
  for (const name of groupBy) {
    const value = row[`by_${name}`]!
    if (typeof value === 'number') group[name] = new Date(value).toISOString()
    else group[name] = mayBeNull.has(name) && value === '' ? null : value
    if (name === 'key' || name === 'member')
      group[`${name}_name`] = names.get(String(value)) ?? null
  }
  // `groupBy` lists members of `Group`, and the columns hold values of their types.
  return { ...group, sums: sumsText(row) } as Group
}

function sumsText(row: SumColumns): Schemas['UsageSums'] {
  return {
    calls: row.calls,
    failed_calls: row.failed_calls,
    cached_calls: row.cached_calls,
    unpriced_calls: row.unpriced_calls,
    ...countsIn(row),
    duration_ms: row.duration_ms,
    cost: moneySumOf(BigInt(row.cost)),
    saved: moneySumOf(BigInt(row.saved)),
  }
}
