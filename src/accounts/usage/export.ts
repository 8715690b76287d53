import type { Kysely } from 'kysely'
import type { components } from '../../../generated/types.ts'
import type { Page } from '../../core/page.ts'
import { summedTo } from '../../storage/fold-deltas.ts'
import { auditPage, type AuditFilter } from '../audit.ts'
import { sqlDialectOf } from '../../storage/sql-dialect.ts'
import type { Tables } from '../../storage/tables.ts'
import { assertInStore, assertReportable } from './archived.ts'
import { dayMs, hourMs, timeRange, type TimeRange } from './range.ts'
import { groupsOf, rangeText, type ReportOptions, type ReportRequest } from './report.ts'
import { filtersOf, pageIn, positionIn, rareIn, type RequestFilter } from './requests.ts'
import { conditions, timeDimensions, type Calls } from './sums.ts'

type Schemas = components['schemas']

export type RequestsRequest = Omit<ReportRequest, 'groupBy' | 'orderBy' | 'cursor'>
/** Filters of single requests, which sums do not have. */
type RowFilter = Pick<RequestFilter, 'columns' | 'costAboveUsd' | 'failedProvider' | 'failure'>
type AuditRequest = Omit<AuditFilter, 'range'> & Pick<RequestsRequest, 'from' | 'to' | 'order'>
export type GroupsRequest = Omit<ReportRequest, 'orderBy' | 'cursor'>

/** Few enough rows that passing them between threads delays no call. */
const pageRows = 200

export type UsageExports = ReturnType<typeof createUsageExports>

/**
 * Exports of any length in bounded memory. Each page is a separate query: a long read would keep SQLite
 * from checkpointing its write-ahead log.
 */
export function createUsageExports({ reader, clock }: ReportOptions) {
  const begin = (request: RequestsRequest) => {
    const { accountId, mode, filter } = request
    const range = timeRange(request, clock())
    const calls: Calls = { ...range, accountId, mode, filter }
    return { calls, head: { account_id: accountId, mode, ...rangeText(range) } }
  }
  return {
    /** All groups of a report. Throws a GatewayError, as its pages do. */
    groups: (request: GroupsRequest) => {
      const { calls, head } = begin(request)
      const group_by = [...request.groupBy]
      const range: ReportRequest = { ...request, orderBy: 'time' }
      const check = () => assertReportable(reader.db, calls, group_by)
      const pages = checked(check, pagesOfSlices(reader, calls, range))
      const file = { head: { object: 'usage_export' as const, ...head, group_by } }
      return { ...file, pages: counted(reader, calls, pages) }
    },
    /** All requests of a range. Throws a GatewayError, as its pages do. */
    requests: (request: RequestsRequest & { rows: RowFilter }) => {
      const { calls, head } = begin(request)
      const check = () => assertInStore(reader.db, calls)
      const read = (cursor?: string) =>
        requestsOf(reader.db, calls, { order: request.order, cursor, rows: request.rows })
      const pages = checked(check, pagesOf(read))
      const file = { head: { object: 'request_export' as const, ...head } }
      return { ...file, pages: counted(reader, calls, pages) }
    },
    /** The audit events of a range, which begins with the first event. Throws a GatewayError, as its pages do. */
    auditEvents: async ({ from, to, order, ...filter }: AuditRequest) => {
      const { accountId } = filter
      const oldest = { limit: 1, order: 'asc' } as const
      const { data } = await auditPage(reader.db, { accountId }, oldest)
      const range = timeRange({ from: from ?? data[0]?.at, to }, clock())
      const pages = pagesOf((cursor) =>
        auditPage(reader.db, { ...filter, range }, { limit: pageRows, order, cursor }),
      )
      const head = { object: 'audit_export' as const, account_id: accountId, ...rangeText(range) }
      return { head, pages: counted(reader, { accountId }, pages) }
    },
  }
}

/** Passes the pages on, and holds the account's report slot until the last page or an early end. */
async function* counted<Row>(
  reader: ReportOptions['reader'],
  { accountId }: Pick<Calls, 'accountId'>,
  pages: AsyncIterable<Row[]>,
): AsyncGenerator<Row[]> {
  const end = reader.begin(accountId)
  try {
    yield* pages
  } finally {
    end()
  }
}

async function* checked<Row>(
  check: () => Promise<void>,
  pages: AsyncIterable<Row[]>,
): AsyncGenerator<Row[]> {
  await check()
  yield* pages
}

async function* pagesOf<Row>(
  read: (cursor: string | undefined) => Promise<Page<Row>>,
): AsyncGenerator<Row[]> {
  let page = await read(undefined)
  yield page.data
  while (page.next_cursor !== null) {
    page = await read(page.next_cursor)
    yield page.data
  }
}

/**
 * Groups with a time dimension are read one day or month at a time: each page is summed again, so that
 * paging through the whole range would cost time quadratic in the number of pages.
 */
async function* pagesOfSlices(
  { db }: ReportOptions['reader'],
  calls: Calls,
  request: ReportRequest,
): AsyncGenerator<Schemas['UsageGroup'][]> {
  let isEmpty = true
  // Later hours are read from `usage_hours`, whether or not they are summed up meanwhile.
  const summed = { ...calls, summedTo: await summedTo(db) }
  for (const slice of slicesOf(await usedPart(db, calls), request)) {
    const pages = pagesOf((cursor) =>
      groupsOf(db, {
        request: { ...request, cursor },
        calls: { ...summed, ...slice },
        limit: pageRows,
      }),
    )
    for await (const groups of pages) {
      if (groups.length > 0) yield groups
      isEmpty &&= groups.length === 0
    }
  }
  if (isEmpty) yield []
}

/** The part of a range from the account's first call to its last, which skips years without calls. */
async function usedPart(
  db: ReportOptions['reader']['db'],
  { accountId, mode, ...range }: Calls,
): Promise<TimeRange> {
  const hours = db
    .selectFrom('usage_hours')
    .select('hour_at')
    .where('account_id', '=', accountId)
    .where('mode', '=', mode)
    .limit(1)
  const first = await hours.orderBy('hour_at', 'asc').executeTakeFirst()
  const last = await hours.orderBy('hour_at', 'desc').executeTakeFirst()
  if (first === undefined || last === undefined) return { from: range.from, to: range.from }
  return {
    from: Math.max(range.from, first.hour_at),
    to: Math.min(range.to, last.hour_at + hourMs),
  }
}

/** Splits a range at days or months, so that no group spans two parts; in the order of the groups. */
function slicesOf({ from, to }: TimeRange, { groupBy, order }: ReportRequest): TimeRange[] {
  if (from >= to) return []
  const isByMonth = groupBy.includes('month')
  if (!isByMonth && !groupBy.some((name) => timeDimensions.has(name))) return [{ from, to }]
  const slices: TimeRange[] = []
  for (let start = from; start < to; start = slices.at(-1)!.to) {
    const date = new Date(start)
    const end = isByMonth
      ? Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
      : (Math.floor(start / dayMs) + 1) * dayMs
    slices.push({ from: start, to: Math.min(end, to) })
  }
  return order === 'asc' ? slices : slices.toReversed()
}

type PageRequest = { order: 'asc' | 'desc'; cursor: string | undefined; rows: RowFilter }

function requestsOf(
  db: Kysely<Tables>,
  { from, to, ...calls }: Calls,
  { order, cursor, rows }: PageRequest,
): Promise<Page<Schemas['RequestRecord']>> {
  const after = cursor === undefined ? undefined : positionIn(cursor)
  const span = {
    accountId: calls.accountId,
    order,
    // One condition for each end: of several, SQLite uses only the first, and would read earlier pages again.
    from: order === 'asc' ? (after?.at ?? from) : from,
    to: order === 'asc' || after === undefined ? to : after.at + 1,
    after,
    rare: rareIn(rows.columns),
  }
  const filters = [conditions(sqlDialectOf(db), calls), ...filtersOf(db, rows)]
  return pageIn(db, { span, filters, limit: pageRows }, [])
}
