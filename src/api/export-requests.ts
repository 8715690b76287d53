import type { components } from '../../generated/types.ts'
import type { UsageExports } from '../accounts/usage/export.ts'
import type { Operation } from '../http/operation.ts'
import { countColumns, fileAnswer, formatOf, type Columns } from './exported-file.ts'
import { rangeOf } from './usage.ts'

/** GET /api/requests/export */
export function exportRequests({ requests }: UsageExports): Operation<'exportRequests'> {
  return async ({ caller, query, request }) =>
    fileAnswer(formatOf(query.format, request.headers.accept), {
      ...requests(rangeOf(caller, query)),
      columns,
    })
}

type Request = components['schemas']['RequestRecord']

const columns: Columns<Request> = {
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
}
