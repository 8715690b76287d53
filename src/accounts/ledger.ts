import type { components } from '../../generated/types.ts'
import type { Warning } from '../core/model.ts'
import {
  noUsage,
  usageCountNames,
  usageCounts,
  type Usage,
  type UsageCount,
} from '../core/money/price.ts'
import { pricingText } from '../core/money/pricing.ts'
import type { MarkCall, Unmark, UsageRow } from '../core/receipt.ts'
import { shortened } from '../core/error.ts'
import type { CallMarks } from '../storage/call-marks.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { UsageTable } from '../storage/tables.ts'
import { createGroups, type GroupLimits } from './groups.ts'

/** Writes usage rows in groups (accounts/groups.ts); takes a row's mark back and resolves when it is durable. */
export function createLedger(
  store: Pick<GuardedStore, 'insert'>,
  onRecorded: (row: UsageRow) => void,
  limits: GroupLimits,
): (row: UsageRow, unmark?: Unmark) => Promise<void> {
  const insert = createGroups(async (ended: readonly Ended[]) => {
    await store.insert(
      'usage',
      ended.map(({ row }) => toTable(row)),
    )
    return ended
  }, limits)
  const recorded = ({ row, unmark }: Ended) => {
    unmark?.()
    onRecorded(row)
  }
  return (row, unmark) => insert({ row, unmark }).then(recorded)
}

type Ended = { row: UsageRow; unmark: Unmark }

/** Marks calls before a vendor is asked, so that a process that is killed leaves a trace of them. */
export function createMarks(marks: Pick<CallMarks, 'set'>): MarkCall {
  return ({ context, modality, model, startedAt, reservation }) => {
    const { caller, requestId, face } = context
    if (caller.mode === 'test' || reservation !== undefined) return undefined
    const who = { account_id: caller.accountId, key_id: caller.keyId, face }
    return marks.set({ id: requestId, at: startedAt, ...who, modality, model })
  }
}

/** The columns of a ledger row. */
function toTable(row: UsageRow): UsageTable {
  const { usage } = row
  const columns = {
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
    cost_nano_usd: row.costNanoUsd,
    cost_status: row.costStatus,
    pricing: pricingText(row.pricing),
    attempts: JSON.stringify(row.attempts),
    duration_ms: Math.round(row.durationMs),
    asked_model: row.askedModel,
    warnings: warningsText(row.warnings),
    saved_nano_usd: row.savedNanoUsd,
    tags: tagsText(row.tags),
  }
  // The loop adds the columns that the type lacks.
  const counted = columns as typeof columns & Record<UsageCount, number>
  for (const name of usageCountNames) counted[name] = usage[usageCounts[name]] ?? 0
  return counted
}

/** The token and image counts of a row. */
export function usageIn(row: Pick<UsageTable, UsageCount>): Usage {
  // `cost_status` marks estimates; estimated counts have the same price.
  const usage = { ...noUsage }
  for (const name of usageCountNames) usage[usageCounts[name]] = row[name]
  return usage
}

/** The counts of a row or of sums, in the contract's form. */
export function countsIn(row: Readonly<Record<UsageCount, number>>): Record<UsageCount, number> {
  // `fromEntries` loses the types of the names.
  return Object.fromEntries(usageCountNames.map((name) => [name, row[name]])) as typeof row
}

/** The stored form of a call's tags; null without tags. */
export function tagsText(tags: readonly string[] | undefined): string | null {
  return tags === undefined || tags.length === 0 ? null : JSON.stringify(tags)
}

type StoredWarning = components['schemas']['Warning']

/** Warnings kept per call, since rows stay for years. */
const warningsMax = 20
const textLengthMax = 300

/** Matches setting values. Any other value may be part of a prompt, and prompts are never stored. */
const plainValue = /^[\w.:/+-]{1,64}$/

/** The stored form of a call's warnings; null without warnings. */
function warningsText(warnings: readonly Warning[]): string | null {
  if (warnings.length === 0) return null
  const kept = warnings
    .slice(0, warningsMax)
    .map(({ param, requested, applied, reason }): StoredWarning => ({
      param: shortened(param, textLengthMax),
      requested: plain(requested),
      applied: plain(applied),
      reason: shortened(reason, textLengthMax),
    }))
  const left = warnings.length - kept.length
  if (left > 0) {
    const reason = `${left} more adjustments were not stored.`
    kept.push({ param: 'warnings', requested: warnings.length, applied: warningsMax, reason })
  }
  return JSON.stringify(kept)
}

/** Parses the form of `warningsText`; empty for null. */
export function readWarnings(text: string | null): StoredWarning[] {
  return text === null ? [] : (JSON.parse(text) as StoredWarning[])
}

function plain(value: unknown): string | number | boolean | null {
  if (typeof value === 'number' || typeof value === 'boolean') return value
  return typeof value === 'string' && plainValue.test(value) ? value : null
}
