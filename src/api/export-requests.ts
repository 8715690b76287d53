import type { components } from '../../generated/types.ts'
import type { UsageExports } from '../accounts/usage/export.ts'
import type { Operation } from '../http/operation.ts'
import { fileAnswer, formatOf, type Columns } from './exported-file.ts'
import { rangeAsked } from './usage.ts'

/** GET /api/requests/export */
export function exportRequests({ requests }: UsageExports): Operation<'exportRequests'> {
  return async ({ caller, query, request }) =>
    fileAnswer(formatOf(query.format, request.headers.accept), {
      ...requests(rangeAsked(caller, query)),
      columns,
    })
}

const columns: Columns<components['schemas']['RequestRecord']> = {
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
  input_tokens: ({ usage }) => usage.input_tokens,
  cached_input_tokens: ({ usage }) => usage.cached_input_tokens,
  cache_write_tokens: ({ usage }) => usage.cache_write_tokens,
  audio_input_tokens: ({ usage }) => usage.audio_input_tokens,
  image_input_tokens: ({ usage }) => usage.image_input_tokens,
  output_tokens: ({ usage }) => usage.output_tokens,
  reasoning_tokens: ({ usage }) => usage.reasoning_tokens,
  audio_output_tokens: ({ usage }) => usage.audio_output_tokens,
  image_output_tokens: ({ usage }) => usage.image_output_tokens,
  images: ({ usage }) => usage.images,
  cost_usd: (row) => row.cost.amount?.usd ?? null,
  cost_nano_usd: (row) => row.cost.amount?.nano_usd ?? null,
  cost_status: (row) => row.cost.status,
  saved_usd: (row) => row.cost.saved?.usd ?? null,
  duration_ms: (row) => row.duration_ms,
  attempts: (row) => JSON.stringify(row.attempts),
  warnings: (row) => JSON.stringify(row.warnings),
}
