import type { UsageTable } from '../../src/storage/tables.ts'

/** A ledger row with this id and time, and default values. */
export function usageRow(id: string, at = 1): UsageTable {
  return { ...blank, id, at }
}

const blank: UsageTable = {
  id: '',
  at: 1,
  account_id: 'acc_1',
  key_id: 'key_1',
  mode: 'test',
  face: 'chat',
  modality: 'chat',
  model: 'm',
  provider: null,
  upstream_model: null,
  outcome: 'ok',
  error_code: null,
  cache: 'miss',
  input_tokens: 1,
  cached_input_tokens: 0,
  output_tokens: 1,
  reasoning_tokens: 0,
  images: 0,
  cost_nano_usd: null,
  cost_status: 'unknown',
  attempts: '[]',
  duration_ms: 1,
  cache_write_tokens: 0,
  image_input_tokens: 0,
  image_output_tokens: 0,
  audio_input_tokens: 0,
  audio_output_tokens: 0,
  served_model: null,
  service_tier: null,
  pricing: null,
  asked_model: null,
  warnings: null,
  saved_nano_usd: null,
  tags: null,
}
