import type { UsageRow } from '../core/receipt.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { UsageTable } from '../storage/tables.ts'

type Group = { rows: UsageRow[]; committed: PromiseWithResolvers<void> }

/**
 * Writes usage rows; resolves when a row is durable. Rows that arrive together, or during a commit,
 * share the next commit (docs/performance.md#ledger). The limit of concurrent requests bounds the
 * rows that wait.
 */
export function createLedger(
  store: Pick<GuardedStore, 'keep'>,
  limits: { ledgerGroupRowsMax: number; ledgerGroupPauseMaxMs: number },
  onRecorded: (row: UsageRow) => void,
): (row: UsageRow) => Promise<void> {
  const waiting: Group[] = []
  let writing = false

  async function write(): Promise<void> {
    for (let group = waiting.shift(); group !== undefined; group = waiting.shift()) {
      try {
        await store.keep('usage', group.rows.map(toTable))
        group.committed.resolve()
        for (const row of group.rows) onRecorded(row)
      } catch (error) {
        group.committed.reject(error)
      }
    }
    writing = false
  }

  /**
   * Commits once a turn of the event loop adds no row: in a large group a row costs half as much. A
   * single row waits for the end of its turn only.
   */
  function gather(before: number, until: number): void {
    setImmediate(() => {
      const { length } = waiting.at(-1)!.rows
      if (length > before && performance.now() < until) gather(length, until)
      else void write()
    })
  }

  return (row) => {
    let group = waiting.at(-1)
    if (group === undefined || group.rows.length >= limits.ledgerGroupRowsMax) {
      group = { rows: [], committed: Promise.withResolvers() }
      waiting.push(group)
    }
    group.rows.push(row)
    if (!writing) {
      writing = true
      gather(1, performance.now() + limits.ledgerGroupPauseMaxMs)
    }
    return group.committed.promise
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
    served_model: null,
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
    audio_output_tokens: 0,
    image_output_tokens: usage.imageOutputTokens ?? 0,
    images: usage.images,
    cost_nano_usd: row.costNanoUsd,
    cost_status: row.costStatus,
    pricing: null,
    attempts: JSON.stringify(row.attempts),
    duration_ms: Math.round(row.durationMs),
  }
}
