import type { components } from '../../../generated/types.ts'
import type { Attempt } from '../../core/resilience/failover.ts'
import { meaningOf, remedyFor } from '../../core/words/remedies.ts'
import { moneyOf } from '../../core/money/price.ts'
import { linesForm, readPricing, linesOf, type Pricing } from '../../core/money/pricing.ts'
import type { UsageTable } from '../../storage/tables.ts'
import { countsIn, readWarnings, usageIn } from '../ledger.ts'

type Schemas = components['schemas']
type RequestRecord = Schemas['RequestRecord']

export type NamedRow = UsageTable & { key_name: string | null }

/** A row of the ledger in the contract's form. */
export function toRecord(row: NamedRow): RequestRecord {
  // Only the ledger writes these columns, with values of these types.
  const typed = row as typeof row &
    Pick<RequestRecord, 'mode' | 'face' | 'modality'> &
    Pick<RequestRecord, 'outcome' | 'cache'>
  return {
    id: row.id,
    object: 'request',
    at: new Date(row.at).toISOString(),
    account_id: row.account_id,
    key_id: row.key_id,
    key_name: row.key_name,
    mode: typed.mode,
    face: typed.face,
    modality: typed.modality,
    model: row.model,
    asked_model: row.asked_model ?? row.model,
    provider: row.provider,
    upstream_model: row.upstream_model,
    served_model: row.served_model ?? (row.outcome === 'ok' ? row.upstream_model : null),
    service_tier: row.service_tier,
    outcome: typed.outcome,
    error_code: row.error_code,
    remedy: remedyFor(row.error_code),
    cache: typed.cache,
    usage: countsIn(row),
    cost: costOf(row),
    attempts: attemptsIn(row.attempts),
    warnings: readWarnings(row.warnings),
    // Only the ledger writes this column, as a list of tags.
    tags: row.tags === null ? [] : (JSON.parse(row.tags) as string[]),
    duration_ms: row.duration_ms,
  }
}

function costOf(row: UsageTable): Schemas['RequestCost'] {
  const { cost_nano_usd: nanoUsd, saved_nano_usd: saved, mode, pricing } = row
  return {
    amount: nanoUsd === null ? null : moneyOf(nanoUsd),
    // Only the ledger writes this column, with values of this type.
    status: row.cost_status as Schemas['CostStatus'],
    is_charged: mode === 'live',
    saved: saved === null ? null : moneyOf(saved),
    ...(pricing === null ? unexplained : explained(row, readPricing(pricing))),
  }
}

type Explanation = Omit<Schemas['RequestCost'], 'amount' | 'status' | 'is_charged' | 'saved'>

const unexplained: Explanation = {
  lines: null,
  exact_usd: null,
  multiplier: null,
  off_peak: null,
  picture: null,
  upstream: null,
}

function explained(row: UsageTable, pricing: Pricing): Explanation {
  const { prices, multiplier, offPeak = null, picture, upstreamNanoUsd: upstream } = pricing
  return {
    ...linesForm(linesOf(usageIn(row), pricing), multiplier),
    ...(prices === null ? { exact_usd: null } : {}),
    off_peak: offPeak,
    picture: picture === undefined ? null : pictureForm(picture),
    upstream: upstream === undefined ? null : moneyOf(upstream),
  }
}

function pictureForm(picture: NonNullable<Pricing['picture']>): Schemas['PicturePaidFor'] {
  const { sizeClass, quality, size, pixels, referenceImages } = picture
  return {
    ...(sizeClass === undefined ? {} : { size_class: sizeClass }),
    ...(quality === undefined ? {} : { quality }),
    ...(size === undefined ? {} : { size }),
    ...(pixels === undefined ? {} : { pixels }),
    ...(referenceImages === undefined ? {} : { reference_images: referenceImages }),
  }
}

/** Rows of older versions lack `startMs`. */
type StoredAttempt = Omit<Attempt, 'startMs'> & Partial<Pick<Attempt, 'startMs'>>

function attemptsIn(text: string): Schemas['RequestAttempt'][] {
  // The ledger writes this column as a list of attempts.
  const attempts = JSON.parse(text) as StoredAttempt[]
  return attempts.map((attempt, index) => ({
    provider: attempt.provider,
    upstream_model: attempt.upstreamModel,
    outcome: attempt.outcome,
    status: attempt.status ?? null,
    start_ms: attempt.startMs ?? null,
    duration_ms: attempt.durationMs,
    cost:
      attempt.costNanoUsd === undefined || attempt.costNanoUsd === null
        ? null
        : moneyOf(attempt.costNanoUsd),
    message: attempt.message ?? null,
    explanation: explanationOf(attempt, attempts.slice(index + 1)),
  }))
}

/** The meaning of a failure, and the next step of the call; calls for several images run concurrently. */
function explanationOf(attempt: StoredAttempt, later: readonly StoredAttempt[]): string | null {
  const meaning = meaningOf(attempt.outcome)
  if (meaning === null) return null
  const { startMs: start = 0, durationMs } = attempt
  const next = later.find(
    ({ startMs }) => startMs === undefined || startMs + 1 >= start + durationMs,
  )
  if (next === undefined) return `${meaning} No further attempt was made.`
  const isSame = next.provider === attempt.provider && next.upstreamModel === attempt.upstreamModel
  return `${meaning} ${isSame ? 'The same provider was tried again.' : `${next.provider} was tried next.`}`
}
