import { sql, type RawBuilder } from 'kysely'
import type { components } from '../../../generated/types.ts'
import { meaningOf, remedyFor } from '../../core/words/remedies.ts'
import { sqlDialectOf, type SqlDialect } from '../../storage/sql-dialect.ts'
import { archivedBefore } from './archived.ts'
import { timeRange } from './range.ts'
import { rangeText, type ReportedRange, type ReportOptions } from './report.ts'
import { madeBy, type UsageFilter } from './sums.ts'

type Schemas = components['schemas']

type ErrorsRequest = ReportedRange &
  Pick<UsageFilter, 'model' | 'member'> & { keyId?: string | undefined }

export type RequestErrors = ReturnType<typeof createRequestErrors>

const causesMax = 100

/** SQL expressions for the last attempt of a call; null for a call without attempts. */
export function lastAttempt(dialect: SqlDialect) {
  const member = (name: 'provider' | 'outcome') =>
    dialect === 'sqlite'
      ? sql<string | null>`json_extract(attempts, ${sql.lit(`$[#-1].${name}`)})`
      : sql<string | null>`(attempts::json -> -1 ->> ${sql.lit(name)})`
  const outcome = member('outcome')
  return { provider: member('provider'), outcome, hasFailed: sql<boolean>`${outcome} <> 'ok'` }
}

type CauseRow = {
  error_code: string
  failed_provider: string | null
  failure: string | null
  calls: number
  last_at: number
  last_id: string
}

/** Counts causes of failed calls row by row, through the ledger's index of rows with an error. */
export function createRequestErrors({ reader, clock }: ReportOptions) {
  const { db } = reader
  return {
    /** The causes of failed calls in a range, the most frequent first. Throws a GatewayError. */
    errors: async (request: ErrorsRequest): Promise<Schemas['RequestErrors']> => {
      const { accountId, mode } = request
      const range = timeRange(request, clock())
      const end = reader.begin(accountId)
      const query = causesOf(sqlDialectOf(db), request, range)
      const reading = Promise.all([query.execute(db), archivedBefore(db, { accountId, ...range })])
      const [{ rows }, archived] = await reading.finally(end)
      return {
        object: 'request_errors',
        account_id: accountId,
        mode,
        ...rangeText(range),
        data: rows.slice(0, causesMax).map(toCause),
        has_more: rows.length > causesMax,
        archived_before: archived,
      }
    },
  }
}

function causesOf(
  dialect: SqlDialect,
  { accountId, mode, model, keyId, member }: ErrorsRequest,
  { from, to }: { from: number; to: number },
): RawBuilder<CauseRow> {
  const { provider, outcome } = lastAttempt(dialect)
  const failed = (value: RawBuilder<unknown>) => sql`case when ${outcome} <> 'ok' then ${value} end`
  const isSqlite = dialect === 'sqlite'
  // With max(), SQLite takes bare columns from the row that has the maximum.
  const lastId = isSqlite ? sql`id` : sql`(array_agg(id order by at desc, id desc))[1]`
  const optional: [string | undefined, (value: string) => RawBuilder<boolean>][] = [
    [model, (value) => sql<boolean>`model = ${value}`],
    [keyId, (value) => sql<boolean>`key_id = ${value}`],
    [member, madeBy],
  ]
  const filters = optional.flatMap(([value, filter]) =>
    value === undefined ? [] : [filter(value)],
  )
  const conditions = [
    sql`account_id = ${accountId}`,
    sql`error_code is not null`,
    sql`outcome <> 'cancelled'`,
    sql`mode = ${mode}`,
    sql`at >= ${from} and at < ${to}`,
    ...filters,
  ]
  return sql<CauseRow>`
    select error_code, ${failed(provider)} as failed_provider, ${failed(outcome)} as failure,
      count(*) as calls, max(at) as last_at, ${lastId} as last_id
    from usage ${isSqlite ? sql`indexed by usage_error_codes` : sql``}
    where ${sql.join(conditions, sql` and `)}
    group by 1, 2, 3 order by calls desc, last_at desc, last_id limit ${causesMax + 1}`
}

function toCause(row: CauseRow): Schemas['RequestErrorCause'] {
  const { error_code, failed_provider, failure } = row
  return {
    object: 'request_error',
    error_code,
    failed_provider,
    failure,
    meaning: meaningOf(failure),
    remedy: remedyFor(error_code),
    calls: row.calls,
    last_at: new Date(row.last_at).toISOString(),
    last_request_id: row.last_id,
  }
}
