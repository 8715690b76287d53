import { sql, type Kysely, type RawBuilder } from 'kysely'
import type { components } from '../../../generated/types.ts'
import { GatewayError } from '../../core/error.ts'
import { cursorOf, pageOf, placeIn, type Page, type PageRequest } from '../../core/page.ts'
import { nanoUsd } from '../../core/money/price.ts'
import type { Reader } from '../../storage/reader.ts'
import { timeDiffersFromId, placeOfRequest } from '../../storage/request-place.ts'
import { sqlDialectOf } from '../../storage/sql-dialect.ts'
import type { Tables } from '../../storage/tables.ts'
import { archivedBefore, archivedMonth } from './archived.ts'
import { moment } from './range.ts'
import { lastAttempt } from './request-errors.ts'
import { toRecord, type NamedRow } from './request-record.ts'
import { madeBy, tagged } from './sums.ts'

type Schemas = components['schemas']
type RequestRecord = Schemas['RequestRecord']

/** The requested calls; the texts are the contract's parameters, unparsed. */
export type RequestFilter = {
  accountId: string
  from?: string | undefined
  to?: string | undefined
  /** The values that columns must have. */
  columns: Partial<Record<FilterColumn, string | undefined>>
  costAboveUsd?: string | undefined
  /** The id of the person who created the key. */
  member?: string | undefined
  /** The provider of the last attempt, which failed. */
  failedProvider?: string | undefined
  failure?: string | undefined
  tag?: string | undefined
}
type FilterColumn =
  | 'mode'
  | 'model'
  | 'provider'
  | 'key_id'
  | 'face'
  | 'modality'
  | 'outcome'
  | 'error_code'
  | 'cache'

/** The most rows searched for one page; the first, smaller search usually fills it. */
const rowsSearched = [500, 10_000] as const

export type Requests = ReturnType<typeof createRequests>

/** Single calls in the ledger. */
export function createRequests({ reader }: { reader: Reader }) {
  const { db } = reader
  return {
    list: async (filter: RequestFilter, page: PageRequest) => {
      const span = spanOf(filter, page)
      const end = reader.begin(filter.accountId)
      const request = { span, filters: filtersOf(db, filter), limit: page.limit }
      const reading = Promise.all([pageIn(db, request), archivedBefore(db, span)])
      const [found, archived] = await reading.finally(end)
      const { next_cursor: next } = found
      const until = next === null ? null : new Date(positionIn(next).at).toISOString()
      return { ...found, searched_until: until, archived_before: archived }
    },
    /** One call of an account; throws `not_found` for any other id. */
    find: async (accountId: string, id: string) => {
      const row = await findRow(db, accountId, id)
      if (row !== undefined) return toRecord(row)
      const place = placeOfRequest(id)
      const month = place && (await archivedMonth(db, accountId, place.from))
      if (month !== undefined) {
        const archived = `The calls of ${month} in this account were archived, with '${id.slice(0, 100)}' if it was one of them. The operator has them in the file usage-${month}.jsonl.gz; reports still have their sums.`
        throw new GatewayError('not_found', archived, { param: 'id' })
      }
      const text = `There is no call '${id.slice(0, 100)}' in this account. Calls that were refused before a provider was asked are not recorded.`
      throw new GatewayError('not_found', text, { param: 'id' })
    },
  }
}

/** One page of calls; searches for the rows of a filter in `steps`, or without a limit. */
export async function pageIn(
  db: Kysely<Tables>,
  request: { span: Span; filters: readonly RawBuilder<boolean>[]; limit: number },
  steps: readonly number[] = rowsSearched,
): Promise<Page<RequestRecord>> {
  const { span, filters, limit } = request
  const [rowsMax, ...more] = filters.length === 0 ? [] : steps
  const end = rowsMax === undefined ? undefined : await endOfSearch(db, span, rowsMax)
  const rows = await select<NamedRow>(db, {
    columns: sql`usage.*, ${keyName} as key_name`,
    span: { ...span, end },
    filters,
    limit: limit + 1,
  })
  if (rows.length <= limit && end !== undefined && more.length > 0) return pageIn(db, request, more)
  const found = pageOf(rows, limit, { placeOf: ({ at, id }) => [at, id], toItem: toRecord })
  if (found.has_more || end === undefined) return found
  return { ...found, has_more: true, next_cursor: cursorOf([end.at, end.id]) }
}

/** The name of a call's key. */
const keyName = sql<string | null>`(select name from api_keys where api_keys.id = usage.key_id)`

/** Finds a row by the time in its id, else among the few rows whose time differs from their id. */
async function findRow(
  db: Kysely<Tables>,
  accountId: string,
  id: string,
): Promise<NamedRow | undefined> {
  const ofId = db
    .selectFrom('usage')
    .selectAll()
    .select(keyName.as('key_name'))
    .where('account_id', '=', accountId)
    .where('id', '=', id)
  const place = placeOfRequest(id)
  const found =
    place &&
    (await ofId.where('at', '>=', place.from).where('at', '<=', place.to).executeTakeFirst())
  return (
    found ?? ofId.where(sql.raw<boolean>(timeDiffersFromId(sqlDialectOf(db)))).executeTakeFirst()
  )
}

type Position = { at: number; id: string }
/** The calls to search, in the order of the page. */
type Span = {
  accountId: string
  order: 'asc' | 'desc'
  from: number | undefined
  to: number | undefined
  after: Position | undefined
  /** The last call to search. */
  end?: Position | undefined
  rare: Rare | undefined
}
/** A filter that has a partial index, which contains only calls that did not succeed. */
type Rare = { column: 'error_code' | 'outcome'; value: string }

function spanOf({ accountId, columns, ...range }: RequestFilter, page: PageRequest): Span {
  const { order, cursor } = page
  return {
    accountId,
    order,
    from: range.from === undefined ? undefined : moment('from', range.from),
    to: range.to === undefined ? undefined : moment('to', range.to),
    after: cursor === undefined ? undefined : positionIn(cursor),
    rare: rareIn(columns),
  }
}

/** The filter of `filtersOf` that has an index. */
export function rareIn({
  error_code: errorCode,
  outcome,
}: RequestFilter['columns']): Rare | undefined {
  if (errorCode !== undefined) return { column: 'error_code', value: errorCode }
  return outcome === undefined || outcome === 'ok'
    ? undefined
    : { column: 'outcome', value: outcome }
}

/** The place of a cursor. Throws `invalid_value`. */
export function positionIn(cursor: string): Position {
  // The cast is safe: `placeIn` throws unless the values have these types.
  const [at, id] = placeIn(cursor, ['number', 'string']) as [number, string]
  return { at, id }
}

/** The condition of each partial index. */
const rowsOf = {
  error_code: sql<boolean>`error_code is not null`,
  outcome: sql<boolean>`outcome <> 'ok'`,
} as const

function conditions({ accountId, order, after, end, ...span }: Span) {
  const { from, to, rare } = span
  const [beyond, within] = order === 'asc' ? ['>', '<='] : ['<', '>=']
  const place = (sign: string, { at, id }: Position) =>
    sql<boolean>`(at, id) ${sql.raw(sign)} (${at}, ${id})`
  return [
    sql<boolean>`account_id = ${accountId}`,
    ...(rare === undefined ? [] : [sql<boolean>`${sql.ref(rare.column)} = ${rare.value}`]),
    ...(rare === undefined ? [] : [rowsOf[rare.column]]),
    ...(from === undefined ? [] : [sql<boolean>`at >= ${from}`]),
    ...(to === undefined ? [] : [sql<boolean>`at < ${to}`]),
    ...(after === undefined ? [] : [place(beyond, after)]),
    ...(end === undefined ? [] : [place(within, end)]),
  ]
}

/** The conditions of a filter, besides that on a rare column. */
export function filtersOf(
  db: Kysely<Tables>,
  { columns, costAboveUsd, member, failedProvider, failure, tag }: Omit<RequestFilter, 'accountId'>,
): RawBuilder<boolean>[] {
  const rare = rareIn(columns)
  const equal = Object.entries(columns).flatMap(([column, value]) =>
    value === undefined || column === rare?.column
      ? []
      : [sql<boolean>`${sql.ref(column)} = ${value}`],
  )
  const last = lastAttempt(sqlDialectOf(db))
  const failed = failedProvider === undefined && failure === undefined ? [] : [last.hasFailed]
  return [
    ...equal,
    ...failed,
    ...(failedProvider === undefined ? [] : [sql<boolean>`${last.provider} = ${failedProvider}`]),
    ...(failure === undefined ? [] : [sql<boolean>`${last.outcome} = ${failure}`]),
    ...(member === undefined ? [] : [madeBy(member)]),
    ...(tag === undefined ? [] : [tagged(sqlDialectOf(db), tag)]),
    ...(costAboveUsd === undefined
      ? []
      : [sql<boolean>`cost_nano_usd > ${Number(nanoUsd(costAboveUsd))}`]),
  ]
}

/** The last call to search for one page; undefined if the list ends earlier. */
async function endOfSearch(
  db: Kysely<Tables>,
  span: Span,
  rowsMax: number,
): Promise<Position | undefined> {
  const limit = 1
  const offset = rowsMax - 1
  const [last] = await select<Position>(db, { columns: sql`at, id`, span, limit, offset })
  return last
}

type Selection = {
  columns: RawBuilder<unknown>
  span: Span
  filters?: readonly RawBuilder<boolean>[]
  limit: number
  offset?: number
}

async function select<Row>(
  db: Kysely<Tables>,
  { columns, span, filters = [], limit, offset = 0 }: Selection,
): Promise<Row[]> {
  const order = sql.raw(span.order)
  const { rows } = await sql<Row>`
    select ${columns} from usage ${sqlDialectOf(db) === 'sqlite' ? indexFor(span) : sql``}
    where ${sql.join([...conditions(span), ...filters], sql` and `)}
    order by at ${order}, id ${order} limit ${limit} offset ${offset}
  `.execute(db)
  return rows
}

/** Without `indexed by`, SQLite scans the table instead of the much smaller partial index. */
function indexFor({ rare }: Span) {
  if (rare === undefined) return sql``
  return rare.column === 'error_code'
    ? sql`indexed by usage_error_codes`
    : sql`indexed by usage_outcomes`
}
