import { pricingText } from '../core/pricing-text.ts'
import type { UsageRow } from '../core/receipt.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { UsageTable } from '../storage/tables.ts'
import { createGroups } from './groups.ts'

/** Writes usage rows in groups (accounts/groups.ts); resolves when a row is durable. */
export function createLedger(
  store: Pick<GuardedStore, 'keep'>,
  limits: { ledgerGroupRowsMax: number; ledgerGroupPauseMaxMs: number },
  onRecorded: (row: UsageRow) => void,
): (row: UsageRow) => Promise<void> {
  const keep = createGroups(async (rows: readonly UsageRow[]) => {
    await store.keep('usage', rows.map(toTable))
    return rows
  }, limits)
  return async (row) => {
    await keep(row)
    onRecorded(row)
  }
}

function toTable(row: UsageRow): UsageTable {
  const { usage } = row
  return {
    id: row.id,
    at: row.at,
    account_id: row.accountId,
    key_id: row.keyId,
    mode: row.mode,
    face: row.face,
    modality: row.modality,
    model: row.model,
    provider: row.provider,
    upstream_model: row.upstreamModel,
    served_model: row.servedModel,
    service_tier: usage.serviceTier ?? null,
    outcome: row.outcome,
    error_code: row.errorCode,
    cache: row.cache,
    input_tokens: usage.inputTokens,
    cached_input_tokens: usage.cachedInputTokens ?? 0,
    cache_write_tokens: usage.cacheWriteTokens ?? 0,
    audio_input_tokens: usage.audioInputTokens ?? 0,
    image_input_tokens: usage.imageInputTokens ?? 0,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens ?? 0,
    audio_output_tokens: usage.audioOutputTokens ?? 0,
    image_output_tokens: usage.imageOutputTokens ?? 0,
    images: usage.images,
    cost_nano_usd: row.costNanoUsd,
    cost_status: row.costStatus,
    pricing: pricingText(row.pricing),
    attempts: JSON.stringify(row.attempts),
    duration_ms: Math.round(row.durationMs),
  }
}
