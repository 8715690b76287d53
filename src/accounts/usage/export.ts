import { sql } from 'kysely'
import type { components } from '../../../generated/types.ts'
import { pageOf, placeIn, type Page } from '../../core/page.ts'
import { moneyOf } from '../../core/price.ts'
import type { UsageTable } from '../../storage/tables.ts'
import { timeRange } from './range.ts'
import { groupsOf, rangeText, type ReportOptions, type ReportRequest } from './report.ts'
import { conditions, type Calls } from './sums.ts'

type Schemas = components['schemas']

/** What an export begins with, and its rows, which are read as they are taken. */
type Exported<Head, Row> = { head: Omit<Head, 'data' | 'rows'>; pages: AsyncIterable<Row[]> }

export type RequestsAsked = Omit<ReportRequest, 'groupBy' | 'orderBy' | 'cursor'>

export type UsageExports = {
  /** All groups of a report. Throws a GatewayError, as its pages do. */
  groups(request: ReportRequest): Exported<Schemas['UsageExport'], Schemas['UsageGroup']>
  /** All requests of a range. Throws a GatewayError, as its pages do. */
  requests(asked: RequestsAsked): Exported<Schemas['RequestExport'], Schemas['ExportedRequest']>
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
    reader.assertFree()
    return { calls, head: { account_id: accountId, mode, ...rangeText(range) } }
  }
  return {
    groups: (request) => {
      const { calls, head } = begin(request)
      const group_by = [...request.groupBy]
      const pages = pagesOf((cursor) =>
        groupsOf(reader.db, { request: { ...request, cursor }, calls, limit: pageRows }),
      )
      return { head: { object: 'usage_export', ...head, group_by }, pages }
    },
    requests: (asked) => {
      const { calls, head } = begin(asked)
      const pages = pagesOf((cursor) => requestsOf(reader, calls, { order: asked.order, cursor }))
      return { head: { object: 'request_export', ...head }, pages }
    },
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

type PageAsked = { order: 'asc' | 'desc'; cursor: string | undefined }

async function requestsOf(
  { db }: ReportOptions['reader'],
  { from, to, ...calls }: Calls,
  { order, cursor }: PageAsked,
): Promise<Page<Schemas['ExportedRequest']>> {
  let rows = db
    .selectFrom('usage')
    .selectAll()
    .where(conditions(calls))
    .where('at', '>=', from)
    .where('at', '<', to)
  if (cursor !== undefined) {
    const [at, id] = placeIn(cursor, ['number', 'string'])
    const beyond = sql.raw(order === 'asc' ? '>' : '<')
    // The first condition is the second one's own, in the words that the index is found by.
    rows = rows
      .where('at', order === 'asc' ? '>=' : '<=', Number(at))
      .where(sql<boolean>`(at, id) ${beyond} (${at}, ${id})`)
  }
  const found = await rows
    .orderBy('at', order)
    .orderBy('id', order)
    .limit(pageRows + 1)
    .execute()
  return pageOf(found, pageRows, { placeOf: ({ at, id }) => [at, id], tell: requestText })
}

/** An attempt as the ledger keeps it. */
type KeptAttempt = {
  provider: string
  upstreamModel: string
  outcome: string
  status?: number
  durationMs: number
}

function requestText(row: UsageTable): Schemas['ExportedRequest'] {
  // Only `ledger` writes attempts.
  const attempts = JSON.parse(row.attempts) as KeptAttempt[]
  const told = {
    object: 'request',
    id: row.id,
    at: new Date(row.at).toISOString(),
    key: row.key_id,
    face: row.face,
    modality: row.modality,
    model: row.model,
    provider: row.provider,
    upstream_model: row.upstream_model,
    served_model: row.served_model,
    service_tier: row.service_tier,
    outcome: row.outcome,
    error_code: row.error_code,
    cache: row.cache,
    input_tokens: row.input_tokens,
    cached_input_tokens: row.cached_input_tokens,
    cache_write_tokens: row.cache_write_tokens,
    audio_input_tokens: row.audio_input_tokens,
    image_input_tokens: row.image_input_tokens,
    output_tokens: row.output_tokens,
    reasoning_tokens: row.reasoning_tokens,
    audio_output_tokens: row.audio_output_tokens,
    image_output_tokens: row.image_output_tokens,
    images: row.images,
    cost: row.cost_nano_usd === null ? null : moneyOf(row.cost_nano_usd),
    cost_status: row.cost_status,
    duration_ms: row.duration_ms,
    attempts: attempts.map((one) => ({
      provider: one.provider,
      upstream_model: one.upstreamModel,
      outcome: one.outcome,
      status: one.status ?? null,
      duration_ms: one.durationMs,
    })),
  }
  // The texts of a row are those of the contract's lists.
  return told as Schemas['ExportedRequest']
}
