import { setTimeout as sleep } from 'node:timers/promises'
import type { UsageRow } from '../core/receipt.ts'
import type { Store } from '../storage/store.ts'
import type { UsageTable } from '../storage/tables.ts'

const groupPauseMs = 3

type Waiting = { row: UsageTable; resolve: () => void; reject: (error: unknown) => void }

/**
 * Writes usage rows. Rows that arrive while a group is being committed make up the next group, so
 * that a commit's price is shared and yet every answer waits for its own row. What may wait is
 * bounded by the number of requests in work.
 */
export function createLedger(
  store: Pick<Store, 'insertMany'>,
  groupRowsMax: number,
): (row: UsageRow) => Promise<void> {
  let waiting: Waiting[] = []
  let writing = false

  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting.slice(0, groupRowsMax)
      waiting = waiting.slice(groupRowsMax)
      try {
        const rows = group.map(({ row }) => row)
        await store.insertMany('usage', rows)
        for (const { resolve } of group) resolve()
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
      // Under load a short pause makes large groups; a lone answer never waits for it.
      if (waiting.length > 0 && waiting.length < groupRowsMax) await sleep(groupPauseMs)
    }
    writing = false
  }

  return (row) =>
    new Promise((resolve, reject) => {
      waiting.push({ row: toTable(row), resolve, reject })
      if (writing) return
      writing = true
      // Other answers of this turn join the group.
      setImmediate(() => void write())
    })
}

function toTable({ usage, ...row }: UsageRow): UsageTable {
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
    outcome: row.outcome,
    error_code: row.errorCode,
    cache: row.cache,
    input_tokens: usage.inputTokens,
    cached_input_tokens: usage.cachedInputTokens ?? 0,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens ?? 0,
    images: usage.images,
    cost_nano_usd: row.costNanoUsd,
    cost_status: row.costStatus,
    attempts: JSON.stringify(row.attempts),
    duration_ms: Math.round(row.durationMs),
  }
}
