import type { components } from '../../generated/types.ts'
import type { CallContext, Face, Mode } from './caller.ts'
import { costOf, type Cost, type CostStatus } from './money/cost.ts'
import type { ErrorCode } from './error.ts'
import type { Attempt } from './resilience/failover.ts'
import type { Admission, LimitState } from './limits.ts'
import { shortenedWarnings, type Model, type Warning } from './model.ts'
import { noUsage, type Usage } from './money/price.ts'
import { free, unpriced, type PictureTraits, type Pricing } from './money/pricing.ts'
import type { CachedAnswer } from './recall/cached-answer.ts'
import type { Route } from './route.ts'

type CacheOutcome = components['schemas']['CacheOutcome']
export type Modality = components['schemas']['CallModality']

/** How a call was handled, as reported to its caller. */
export type Receipt = {
  model: Model
  provider: string
  cost: Cost
  cache: CacheOutcome
  attempts: readonly Attempt[]
  warnings: readonly Warning[]
  mode: Mode
  /** The caller's limits after the call. */
  limits: readonly LimitState[]
}

/** A row of the ledger; durable before the answer ends (docs/behaviour.md#promises, promise 1). */
export type UsageRow = {
  id: string
  /** The start of the call, Unix time in milliseconds. */
  at: number
  accountId: string
  keyId: string
  mode: Mode
  face: Face
  modality: Modality
  model: string
  /** The model as the caller named it; null when equal to `model`. */
  askedModel: string | null
  provider: string | null
  upstreamModel: string | null
  /** The model that the vendor reports; null when equal to `upstreamModel` or not reported. */
  servedModel: string | null
  outcome: 'ok' | 'failed' | 'cancelled' | 'unknown'
  errorCode: ErrorCode | null
  cache: CacheOutcome
  usage: Usage
  costNanoUsd: number | null
  costStatus: CostStatus
  pricing: Pricing
  attempts: readonly Attempt[]
  /** Adjustments of the delivered answer. */
  warnings: readonly Warning[]
  /** The original cost of a cached answer; null when unknown or when the answer is not from the cache. */
  savedNanoUsd: number | null
  durationMs: number
}

/** What is known of a call before its end. */
export type StartedCall = {
  context: CallContext
  modality: Modality
  model: string
  /** The model as the caller named it. */
  askedModel: string
  attempts: readonly Attempt[]
  startedAt: number
  durationMs: number
}

/** The end of a call, successful or not. */
export type CallEnd = {
  route?: Route | undefined
  /** The model of a cached answer. */
  model?: string
  servedModel?: string | undefined
  outcome: UsageRow['outcome']
  errorCode?: ErrorCode
  cache: CacheOutcome
  usage: Usage | undefined
  cost: Cost
  warnings?: readonly Warning[] | undefined
  savedNanoUsd?: number | null | undefined
}

/** Builds the ledger's row of a call. */
export function usageRow(call: StartedCall, ending: CallEnd): UsageRow {
  const { context, modality, attempts, askedModel } = call
  const { route, outcome, cache, cost } = ending
  const { servedModel = null, warnings = [], savedNanoUsd = null } = ending
  const model = route?.model.row.id ?? ending.model ?? call.model
  const upstreamModel = route?.upstreamModel ?? null
  return {
    id: context.requestId,
    at: call.startedAt,
    accountId: context.caller.accountId,
    keyId: context.caller.keyId,
    mode: context.caller.mode,
    face: context.face,
    modality,
    model,
    askedModel: askedModel === model ? null : askedModel,
    provider: route?.provider.id ?? null,
    upstreamModel,
    servedModel: servedModel === upstreamModel ? null : servedModel,
    outcome,
    errorCode: ending.errorCode ?? null,
    cache,
    usage: ending.usage ?? noUsage,
    costNanoUsd: cost.nanoUsd,
    costStatus: cost.status,
    pricing: cost.pricing,
    attempts,
    warnings,
    savedNanoUsd,
    durationMs: call.durationMs,
  }
}

type Same = Pick<Receipt, 'attempts' | 'mode'>
type Details = Omit<Receipt, keyof Same | 'limits'>

/** Returns a function that writes the receipt of a call, with the current state of its limits. */
export function receiptWriter({ attempts, mode }: Same, admission: Admission) {
  return ({ model, provider, cost, cache, warnings }: Details): Receipt => ({
    model,
    provider,
    cost,
    cache,
    attempts,
    warnings: shortenedWarnings(warnings),
    mode,
    limits: admission.limits(),
  })
}

/** A vendor's answer to a call that began at `atMs`, Unix time in milliseconds. */
type Delivery = {
  model: Model
  usage: Usage | undefined
  mode: Mode
  atMs: number
  picture?: PictureTraits | undefined
}

/** The cost of a vendor's answer; its status is `unknown` when the usage is unknown. */
export function costOfAnswer({ model, usage, mode, atMs, picture }: Delivery): Cost {
  if (usage === undefined) return unknownCost(mode)
  const cost = costOf(model.prices, usage, { atMs, picture })
  return { ...cost, details: { mode, ...cost.details } }
}

/** The members of a ledger row that describe the cached answer. */
export function replayed({ row }: Model, { usage, costNanoUsd }: CachedAnswer) {
  return { model: row.id, usage, savedNanoUsd: costNanoUsd }
}

/** The cost of a cache hit: zero. */
export function cachedCost(mode: Mode): Cost {
  return { nanoUsd: 0, status: 'cached', pricing: free, details: { mode } }
}

/** The cost of a call that delivered nothing: zero. */
export function noCost(mode: Mode): Cost {
  return { nanoUsd: 0, status: 'exact', pricing: free, details: { mode } }
}

/** The cost of a call whose usage is unknown or not yet known. */
export function unknownCost(mode: Mode): Cost {
  return { nanoUsd: null, status: 'unknown', pricing: unpriced, details: { mode } }
}
