import type { components } from '../../generated/types.ts'
import type { CallContext, Face, Mode } from './caller.ts'
import { addCost, costOf, type Cost, type CostStatus } from './money/cost.ts'
import { GatewayError, type ErrorCode } from './error.ts'
import { ProviderFailure, UnknownOutcome } from './failure.ts'
import type { Attempt, Try } from './resilience/failover.ts'
import type { Admission, LimitState } from './limits.ts'
import { shortenedWarnings, type Model, type Warning } from './model.ts'
import { noUsage, type Usage } from './money/price.ts'
import { free, unpriced, type PictureTraits, type Pricing, type Spent } from './money/pricing.ts'
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
  tags: readonly string[] | undefined
  /** The original cost of a cached answer; null when unknown or when the answer is not from the cache. */
  savedNanoUsd: number | null
  durationMs: number
}

/** The parts of a call that its row has. */
type StartedCall = {
  context: CallContext
  admission: Admission
  modality: Modality
  /** The model as the caller named it. */
  model: string
  startedAt: number
  tries: readonly Try[]
}

/** Leaves a mark of a call that outlives the process, before a vendor is asked. */
export type MarkCall = (
  call: Omit<StartedCall, 'tries' | 'admission'> & { reservation: unknown },
) => Unmark

/**
 * Takes a mark back, once. Undefined for a call with a test key, which costs nothing, or with a reservation, which
 * is a mark itself.
 */
export type Unmark = (() => void) | undefined

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
export function usageRow(call: StartedCall, ending: CallEnd, durationMs: number): UsageRow {
  const { context, modality, tries } = call
  const { route, outcome, cache, cost } = ending
  const { servedModel = null, warnings = [], savedNanoUsd = null } = ending
  const last = tries.at(-1)?.route
  const model = route?.model.row.id ?? ending.model ?? last?.model.row.id ?? call.model
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
    askedModel: call.model === model ? null : call.model,
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
    attempts: tries.map(({ attempt }) => attempt),
    warnings,
    tags: context.tags,
    savedNanoUsd,
    durationMs,
  }
}

/** The receipt of a call, with the current state of its limits. */
export function receiptOf(
  { context, admission, tries }: StartedCall,
  { model, provider, cost, cache, warnings }: Omit<Receipt, 'attempts' | 'mode' | 'limits'>,
): Receipt {
  return {
    model,
    provider,
    cost,
    cache,
    attempts: tries.map(({ attempt }) => attempt),
    warnings: shortenedWarnings(warnings),
    mode: context.caller.mode,
    limits: admission.limits(),
  }
}

type Answer = Pick<Delivered, 'usage' | 'picture'> & { model: Model }

/** The cost of a vendor's answer; its status is `unknown` when the usage is unknown. */
export function costOfAnswer(
  { context, startedAt: atMs }: StartedCall,
  { model, usage, picture }: Answer,
): Cost {
  const { mode } = context.caller
  if (usage === undefined) return unknownCost(mode)
  const cost = costOf(model.prices, usage, { atMs, picture })
  return { ...cost, details: { mode, ...cost.details } }
}

/** The receipt of an answer that is still being delivered; its cost is not known yet. */
export function receiptSoFar(
  call: StartedCall & Pick<Receipt, 'cache'>,
  { model, provider }: Route,
  warnings: readonly Warning[],
): Receipt {
  const cost = unknownCost(call.context.caller.mode)
  return receiptOf(call, { model, provider: provider.id, cost, cache: call.cache, warnings })
}

/** The cost of a cache hit: zero. */
export function cachedCost(mode: Mode): Cost {
  return { nanoUsd: 0, status: 'cached', pricing: free, details: { mode } }
}

/** The cost of a call whose usage is unknown or not yet known. */
export function unknownCost(mode: Mode): Cost {
  return { nanoUsd: null, status: 'unknown', pricing: unpriced, details: { mode } }
}

/** A delivered answer, for the receipt and the ledger. */
export type Delivered = {
  route: Route
  usage: Usage | undefined
  /** The model that the vendor reports. */
  servedModel?: string
  picture?: PictureTraits
}

/** A complete result; `bytes` is roughly the memory that the result takes. */
export type Whole<Result> = Delivered & {
  result: Result
  bytes: number
  /** Adjustments of the route that answered. */
  warnings: readonly Warning[]
}

function outcomeOf(failure: ProviderFailure | undefined): UsageRow['outcome'] {
  if (failure instanceof UnknownOutcome) return 'unknown'
  return failure?.kind === 'cancelled' ? 'cancelled' : 'failed'
}

/**
 * The outcome and cost of a failed call, which may have delivered a part of its answer
 * (docs/behaviour.md#budgets).
 */
export function failedEnd(
  failure: ProviderFailure | undefined,
  delivered: Delivered | undefined,
  call: StartedCall,
) {
  const { tries, context } = call
  const { mode } = context.caller
  const outcome = outcomeOf(failure)
  // The attempt of a stream that broke off was recorded when the stream began.
  const broken = delivered && tries.at(-1)?.attempt
  if (broken && failure?.words) broken.message = failure.words
  const isOpen = delivered === undefined && tries.some((one) => one.failure?.mayBeCharged)
  const last = delivered === undefined ? tries.findLast(spentOf) : undefined
  const made = delivered ?? (last && { route: last.route, ...spentOf(last)! })
  const own = made
    ? costOfAnswer(call, { model: made.route.model, ...made })
    : { ...cachedCost(mode), status: 'exact' as const }
  const known = withOtherTries(own, call, last)
  const cost = outcome === 'unknown' || isOpen ? unknownCost(mode) : known
  return { outcome, usage: undefined, ...made, cost }
}

/**
 * The total cost of a call: `cost`, of the answer or of the try `own`, and the cost of the usage that vendors
 * reported in other tries. Sets the cost of each attempt that was not delivered.
 */
export function withOtherTries(cost: Cost, call: StartedCall, own?: Try): Cost {
  let all = cost
  for (const one of call.tries) {
    const spent = spentOf(one)
    if (spent === undefined) continue
    const part = costOfAnswer(call, { model: one.route.model, ...spent })
    one.attempt.costNanoUsd = part.nanoUsd
    if (one !== own) all = addCost(all, part)
  }
  return all
}

function spentOf({ spent, failure }: Try): Spent | undefined {
  return spent ?? failure?.spent
}

/** Whether a call failed because it waited for an identical call, which failed. */
export function wasJoined(thrown: unknown): boolean {
  return thrown instanceof GatewayError && thrown.cause instanceof ProviderFailure
}
