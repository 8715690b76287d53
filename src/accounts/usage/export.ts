import { sql } from 'kysely'
import type { components } from '../../../generated/types.ts'
import { pageOf, placeIn, type Page } from '../../core/page.ts'
import { dayMs, hourMs, timeRange, type TimeRange } from './range.ts'
import { groupsOf, rangeText, type ReportOptions, type ReportRequest } from './report.ts'
import { toRecord } from './request-record.ts'
import { keyName } from './requests.ts'
import { conditions, timeDimensions, type Calls } from './sums.ts'

type Schemas = components['schemas']

/** What an export begins with, and its rows, which are read as they are taken. */
type Exported<Head, Row> = { head: Omit<Head, 'data' | 'rows'>; pages: AsyncIterable<Row[]> }

export type RequestsAsked = Omit<ReportRequest, 'groupBy' | 'orderBy' | 'cursor'>
export type GroupsAsked = Omit<ReportRequest, 'orderBy' | 'cursor'>

export type UsageExports = {
  /** All groups of a report. Throws a GatewayError, as its pages do. */
  groups(request: GroupsAsked): Exported<Schemas['UsageExport'], Schemas['UsageGroup']>
  /** All requests of a range. Throws a GatewayError, as its pages do. */
  requests(asked: RequestsAsked): Exported<Schemas['RequestExport'], Schemas['RequestRecord']>
}

/** Few enough that to read them from the thread holds up no call. */
const pageRows = 200

/**
 * Exports of any length in bounded memory. Each page is a query of its own: a long one would keep the
 * store's log from being restarted.
 */
export function createUsageExports({ reader, clock }: ReportOptions): UsageExports {
  const begin = (request: RequestsAsked) => {
    const { accountId, mode, filter } = request
    const range = timeRange(request, clock())
    const calls: Calls = { ...range, accountId, mode, filter }
    return { calls, head: { account_id: accountId, mode, ...rangeText(range) } }
  }
  return {
    groups: (request) => {
      const { calls, head } = begin(request)
      const group_by = [...request.groupBy]
      const asked: ReportRequest = { ...request, orderBy: 'time' }
      const pages = pagesOfSlices(reader, calls, asked)
      const file = { head: { object: 'usage_export' as const, ...head, group_by } }
      return { ...file, pages: counted(reader, calls, pages) }
    },
    requests: (asked) => {
      const { calls, head } = begin(asked)
      const pages = pagesOf((cursor) => requestsOf(reader, calls, { order: asked.order, cursor }))
      const file = { head: { object: 'request_export' as const, ...head } }
      return { ...file, pages: counted(reader, calls, pages) }
    },
  }
}

/** The same pages, under way from the first to the last or until nobody wants more. */
async function* counted<Row>(
  reader: ReportOptions['reader'],
  { accountId }: Calls,
  pages: AsyncIterable<Row[]>,
): AsyncGenerator<Row[]> {
  const end = reader.begin(accountId)
  try {
    yield* pages
  } finally {
    end()
  }
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
 * The groups of one day or month after the other where they are sorted by time: each page is made of
 * sums of its own, so that pages of the whole range would cost as much as their number squared.
 */
async function* pagesOfSlices(
  { db }: ReportOptions['reader'],
  calls: Calls,
  request: ReportRequest,
): AsyncGenerator<Schemas['UsageGroup'][]> {
  let isEmpty = true
  for (const slice of slicesOf(await usedPart(db, calls), request)) {
    const pages = pagesOf((cursor) =>
      groupsOf(db, {
        request: { ...request, cursor },
        calls: { ...calls, ...slice },
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

/** The part of a range in which the account has calls: there may be years without any. */
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

/** A range in parts that no group lies across, in the order of its groups. */
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

type PageAsked = { order: 'asc' | 'desc'; cursor: string | undefined }

async function requestsOf(
  { db }: ReportOptions['reader'],
  { from, to, ...calls }: Calls,
  { order, cursor }: PageAsked,
): Promise<Page<Schemas['RequestRecord']>> {
  const [at, id] = cursor === undefined ? [] : placeIn(cursor, ['number', 'string'])
  const passed = at === undefined ? undefined : Number(at)
  const newer = order === 'asc'
  let rows = db
    .selectFrom('usage')
    .selectAll()
    .select(keyName.as('key_name'))
    .where(conditions(calls))
    // One bound on each side: SQLite takes the first of several, and would read what was passed.
    .where('at', '>=', newer ? (passed ?? from) : from)
    .where('at', '<', newer || passed === undefined ? to : passed + 1)
  if (passed !== undefined) {
    const beyond = sql.raw(newer ? '>' : '<')
    rows = rows.where(sql<boolean>`(at, id) ${beyond} (${passed}, ${id})`)
  }
  const found = await rows
    .orderBy('at', order)
    .orderBy('id', order)
    .limit(pageRows + 1)
    .execute()
  return pageOf(found, pageRows, { placeOf: ({ at, id }) => [at, id], tell: toRecord })
}
