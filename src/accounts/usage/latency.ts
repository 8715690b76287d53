import { sql } from 'kysely'
import type { components } from '../../../generated/types.ts'
import { sqlDialectOf } from '../../storage/sql-dialect.ts'
import { timeRange } from './range.ts'
import { rangeText, type ReportedRange, type ReportOptions } from './report.ts'
import { conditions, type UsageFilter } from './sums.ts'

type LatencyRequest = ReportedRange & Pick<UsageFilter, 'model' | 'provider'>

export type Latencies = ReturnType<typeof createLatencies>

/** Bounds the time of a report; the newest calls say the most about what is slow now. */
const rowsMax = 10_000

type Row = { calls: number; median_ms: number | null; p95_ms: number | null; rows: number }

/** Reports how long successful calls of an account took, from the newest rows of its ledger. */
export function createLatencies({ reader, clock }: ReportOptions) {
  return {
    /** The nearest-rank percentiles of the calls that a provider answered. Throws a GatewayError. */
    latency: async (request: LatencyRequest): Promise<components['schemas']['LatencyReport']> => {
      const { accountId, mode, model, provider } = request
      const range = timeRange(request, clock())
      const filtered = { accountId, mode, filter: { model, provider } }
      const end = reader.begin(accountId)
      const query = sql<Row>`
        with newest as (
          select id, at, account_id, mode, outcome, provider, model, duration_ms from usage
          where account_id = ${accountId} and at >= ${range.from} and at < ${range.to}
          order by at desc, id desc limit ${rowsMax + 1}
        ), ranked as (
          select duration_ms, row_number() over (order by duration_ms) as place, count(*) over () as calls
          from (select * from newest order by at desc, id desc limit ${rowsMax}) as measured
          where outcome = 'ok' and provider is not null
            and ${conditions(sqlDialectOf(reader.db), filtered)}
        )
        select count(*) as calls, (select count(*) from newest) as rows,
          min(case when place * 2 >= calls then duration_ms end) as median_ms,
          min(case when place * 100 >= calls * 95 then duration_ms end) as p95_ms
        from ranked`
      const { rows } = await query.execute(reader.db).finally(end)
      const { calls, median_ms, p95_ms, rows: read } = rows[0]!
      const isWhole = read <= rowsMax
      const head = { account_id: accountId, mode, ...rangeText(range) }
      return { object: 'latency_report', ...head, calls, median_ms, p95_ms, is_whole: isWhole }
    },
  }
}
