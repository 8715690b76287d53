import type { components } from '../../generated/types.ts'
import type { UsageExports } from '../accounts/usage/export.ts'
import { usageCountNames, type UsageCount } from '../core/money/price.ts'
import type { Answer } from '../http/answer.ts'
import type { Operations } from '../http/contract-router.ts'
import { rangeOf } from './usage.ts'

type Schemas = components['schemas']
type Format = Schemas['ExportFormat']
type Request = Schemas['RequestRecord']
type Group = Schemas['UsageGroup']
type AuditEvent = Schemas['AuditEvent']
type Dimension = Schemas['UsageDimension']

/** The head of an export, and its pages of rows, which are read on demand. */
type Exported<Head, Row> = { head: Head; pages: AsyncIterable<Row[]> }
/** Functions that read the cells of a row, by column name. */
type Columns<Row> = Readonly<Record<string, (row: Row) => string | number | null>>

/** Dependencies of the exports. */
export type ExportParts = { exports: UsageExports }

/** The handlers that export an account's calls, usage sums and audit events as files. */
export function exportOperations({ exports: { requests, groups, auditEvents } }: ExportParts) {
  return {
    exportAuditEvents: async ({ caller: { accountId }, query, request }) => {
      const { format, from, to, action, target, by, order } = query
      return fileAnswer(formatOf(format, request.headers.accept), {
        ...(await auditEvents({ accountId, from, to, action, target, by, order })),
        columns: auditColumns,
      })
    },
    exportRequests: async ({ caller, query, request }) => {
      const { error_code, cache, failure } = query
      const { failed_provider: failedProvider, cost_above_usd: costAboveUsd } = query
      const rows = { columns: { error_code, cache }, costAboveUsd, failedProvider, failure }
      return fileAnswer(formatOf(query.format, request.headers.accept), {
        ...requests({ ...rangeOf(caller, query), rows }),
        columns: requestColumns,
      })
    },
    exportUsage: async ({ caller, query, request }) => {
      const range = rangeOf(caller, query)
      const groupBy = query.group_by ?? []
      const columns = { ...groupColumns(groupBy), ...sumColumns }
      return fileAnswer(formatOf(query.format, request.headers.accept), {
        ...groups({ ...range, groupBy }),
        columns,
      })
    },
  } satisfies Partial<Operations>
}

const auditColumns: Columns<AuditEvent> = {
  id: (row) => row.id,
  at: (row) => row.at,
  action: (row) => row.action,
  by: (row) => row.by,
  by_name: (row) => row.by_name,
  address: (row) => row.address,
  target: (row) => row.target,
  target_name: (row) => row.target_name,
  before: (row) => row.before && JSON.stringify(row.before),
  after: (row) => row.after && JSON.stringify(row.after),
}

const requestColumns: Columns<Request> = {
  id: (row) => row.id,
  at: (row) => row.at,
  key_id: (row) => row.key_id,
  key_name: (row) => row.key_name,
  face: (row) => row.face,
  modality: (row) => row.modality,
  model: (row) => row.model,
  asked_model: (row) => row.asked_model,
  provider: (row) => row.provider,
  upstream_model: (row) => row.upstream_model,
  served_model: (row) => row.served_model,
  service_tier: (row) => row.service_tier,
  outcome: (row) => row.outcome,
  error_code: (row) => row.error_code,
  cache: (row) => row.cache,
  ...countColumns(({ usage }: Request) => usage),
  cost_usd: (row) => row.cost.amount?.usd ?? null,
  cost_nano_usd: (row) => row.cost.amount?.nano_usd ?? null,
  cost_status: (row) => row.cost.status,
  saved_usd: (row) => row.cost.saved?.usd ?? null,
  duration_ms: (row) => row.duration_ms,
  attempts: (row) => JSON.stringify(row.attempts),
  warnings: (row) => JSON.stringify(row.warnings),
  tags: (row) => row.tags.join(' '),
}

function groupColumns(groupBy: readonly Dimension[]): Columns<Group> {
  const names = groupBy.flatMap((name) => namesOf[name] ?? name)
  return Object.fromEntries(names.map((name) => [name, (group: Group) => group[name] ?? null]))
}

const namesOf: Partial<Record<Dimension, readonly (keyof Omit<Group, 'sums'>)[]>> = {
  key: ['key', 'key_name'],
  member: ['member', 'member_name'],
}

const sumColumns: Columns<Group> = {
  calls: ({ sums }) => sums.calls,
  failed_calls: ({ sums }) => sums.failed_calls,
  cached_calls: ({ sums }) => sums.cached_calls,
  unpriced_calls: ({ sums }) => sums.unpriced_calls,
  ...countColumns(({ sums }: Group) => sums),
  duration_ms: ({ sums }) => sums.duration_ms,
  cost_usd: ({ sums }) => sums.cost.usd,
  cost_nano_usd: ({ sums }) => sums.cost.nano_usd,
  saved_usd: ({ sums }) => sums.saved.usd,
  saved_nano_usd: ({ sums }) => sums.saved.nano_usd,
}

/** The columns of a row's token and image counts. */
function countColumns<Row>(
  countsOf: (row: Row) => Readonly<Record<UsageCount, number>>,
): Columns<Row> {
  const entries = usageCountNames.map((name) => [name, (row: Row) => countsOf(row)[name]] as const)
  return Object.fromEntries(entries)
}

type File<Head, Row> = Exported<Head, Row> & { columns: Columns<Row> }
type Ranged = { object: string; from: string; to: string }

const mediaTypes: Readonly<Record<Format, string>> = {
  csv: 'text/csv',
  jsonl: 'application/x-ndjson',
  json: 'application/json',
}

/** The requested format, otherwise the first supported type of `Accept`, otherwise JSON. */
function formatOf(format: Format | undefined, accept = ''): Format {
  if (format !== undefined) return format
  const names = Object.keys(mediaTypes) as Format[]
  const types = accept.split(',').map((part) => part.split(';', 1)[0]!.trim().toLowerCase())
  const supported = types.map((type) => names.find((name) => mediaTypes[name] === type))
  return supported.find((name) => name !== undefined) ?? 'json'
}

/** The response that sends an export as a file. */
function fileAnswer<Head extends Ranged, Row>(format: Format, file: File<Head, Row>): Answer {
  const { object, from, to } = file.head
  const name = `${object.replace('_', '-')}-${from.slice(0, 10)}-${to.slice(0, 10)}.${format}`
  const charset = format === 'csv' ? '; charset=utf-8; header=present' : ''
  return {
    status: 200,
    headers: {
      'content-type': mediaTypes[format] + charset,
      'content-disposition': `attachment; filename="${name}"`,
      'cache-control': 'no-store',
    },
    stream: written[format](file),
  }
}

const written = { csv, jsonl, json } satisfies Record<Format, unknown>

/** CSV as in RFC 4180. */
async function* csv<Head, Row>({ pages, columns }: File<Head, Row>): AsyncGenerator<string> {
  const cells = Object.values(columns)
  const line = (values: readonly (string | number | null)[]) => `${values.map(cell).join(',')}\r\n`
  let head = line(Object.keys(columns))
  for await (const rows of pages) {
    yield head + rows.map((row) => line(cells.map((read) => read(row)))).join('')
    head = ''
  }
}

/** Spreadsheets evaluate text with these first characters, full-width forms included, as a formula. */
const formula = /^[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/

function cell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = formula.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

async function* jsonl<Head, Row>({ head, pages }: File<Head, Row>): AsyncGenerator<string> {
  let begun = `${JSON.stringify(head)}\n`
  let count = 0
  for await (const rows of pages) {
    count += rows.length
    yield begun + rows.map((row) => `${JSON.stringify(row)}\n`).join('')
    begun = ''
  }
  yield `${JSON.stringify({ object: 'export_end', rows: count })}\n`
}

async function* json<Head, Row>({ head, pages }: File<Head, Row>): AsyncGenerator<string> {
  let between = `${JSON.stringify(head).slice(0, -1)},"data":[\n`
  let count = 0
  for await (const rows of pages) {
    count += rows.length
    let text = ''
    for (const row of rows) {
      text += between + JSON.stringify(row)
      between = ',\n'
    }
    if (text !== '') yield text
  }
  const begun = count === 0 ? between : '\n'
  yield `${begun}],"rows":${count}}\n`
}
