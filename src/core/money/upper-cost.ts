import type { Caller, Face } from '../caller.ts'
import type { Modality } from '../receipt.ts'
import type { Readiness, Route } from '../route.ts'
import {
  isPeak,
  multiplierUnit,
  pricesAt,
  type ImagePriceRow,
  type Prices,
  type TokenPrices,
  type Usage,
} from './price.ts'
import {
  femtoPerNano,
  femtoUsd,
  multiplierOne,
  sumOf,
  type CostLine,
  type PictureTraits,
} from './pricing.ts'

/** Upper bound of the usage of a call at one model (docs/behaviour.md#budgets). */
export type UpperUsage = {
  inputTokens: number
  outputTokens: number
  /** Whether the input may contain sound, or pictures. */
  hasAudioInput?: boolean
  hasImageInput?: boolean
  /** Whether the output may contain sound. */
  hasAudioOutput?: boolean
  images: number
  /** The tokens of the requested partial images. */
  partialTokens?: number
  /** Traits of the pictures that are known in advance. */
  picture?: PictureTraits
  /** The most searches of the web that the request allows; absent without searches. */
  webSearches?: number
  serviceTier?: string
}

/** The exact usage of a call, which does not depend on its answer. */
export type ExactUsage = { usage: Usage; picture: PictureTraits }

/**
 * Most searches of the web for one answer, which is Anthropic's own limit before it pauses a turn. More are a
 * mistake of the model, which would be paid without end.
 */
export const searchesMax = 10

/** Pixels per token of a picture without a price by size; no documented vendor uses more tokens. */
const pixelsPerToken = 64
/** Text tokens that a model may write along with a picture. */
const tokensBesidePicture = 1024
/** Safety factor for prices that the catalog marks as estimates, and for doubtful prices. */
const estimateFactor = 2

/** A maximum cost and its lines; `nanoUsd` is rounded up. */
type UpperCost = { nanoUsd: number; lines: readonly CostLine[]; multiplier: bigint }

/** At least the `costOf` of any usage within the bound; undefined when no price is known. */
export function upperCost(prices: Prices, usage: UpperUsage, atMs: number): UpperCost | undefined {
  const valid = pricesAt(prices, atMs)
  const margin = BigInt(valid.isDoubtful ? estimateFactor : 1)
  const multiplier = upperMultiplier(valid, usage, atMs) * margin
  const possible = usage.images > 0 ? pictureLines(valid, usage) : [tokenLines(valid, usage)]
  const known = possible.filter((lines) => lines !== undefined)
  if (known.length === 0) return undefined
  const lines = known.reduce((a, b) => (sumOf(a) > sumOf(b) ? a : b))
  const searches = searchLine(valid, usage, margin)
  if (searches !== undefined) return withSearches(lines, searches, multiplier)
  const nanoUsd = Number(divided(sumOf(lines) * multiplier, femtoPerNano * multiplierUnit))
  return { nanoUsd, lines, multiplier: multiplier * multiplierUnit }
}

/** The multiplier of tiers is not for searches, so it becomes a part of the other prices. */
function withSearches(
  lines: readonly CostLine[],
  searches: CostLine,
  multiplier: bigint,
): UpperCost {
  const multiplied = lines.map((line) => {
    return { ...line, price: divided(line.price * multiplier, multiplierUnit) }
  })
  const all = [...multiplied, searches]
  return {
    nanoUsd: Number(divided(sumOf(all), femtoPerNano)),
    lines: all,
    multiplier: multiplierOne,
  }
}

function searchLine(
  { webSearch }: Prices,
  usage: UpperUsage,
  margin: bigint,
): CostLine | undefined {
  if (webSearch === undefined || usage.webSearches === undefined) return undefined
  const units = { search: usage.webSearches, query: searchesMax, answer: 1 }[webSearch.unit]
  return { what: 'web_searches', units, price: femtoUsd(webSearch.nanoUsd) * margin }
}

/** Whether the price of a picture is known in advance, in spite of unknown traits. */
export function isPictureExact(prices: Prices, picture: PictureTraits, atMs: number): boolean {
  const { perImage, perImageIsEstimate } = pricesAt(prices, atMs)
  const first = perImage.find((row) => mayFit(row, picture))
  return !perImageIsEstimate && first !== undefined && fits(first, picture)
}

/** The higher multiplier of the requested tier and the default tier; for `auto` the highest of all tiers. */
function upperMultiplier(
  { serviceTiers, offPeak }: Prices,
  { serviceTier: tier }: UpperUsage,
  atMs: number,
): bigint {
  const tiers = [...serviceTiers.values()].map((one) => one.multiplier)
  const named = tier === undefined || tier === 'default' ? [] : tiers
  const known = tier === undefined ? undefined : serviceTiers.get(tier)?.multiplier
  const possible = known === undefined ? named : [known]
  const most = possible.reduce((a, b) => (a > b ? a : b), multiplierUnit)
  if (offPeak === undefined || isPeak(offPeak.peak, atMs)) return most
  return divided(most * offPeak.multiplier, multiplierUnit)
}

function tokenLines({ tokens, tiers }: Prices, usage: UpperUsage): CostLine[] | undefined {
  const { inputTokens, outputTokens } = usage
  if (tokens === null || !Number.isFinite(inputTokens + outputTokens)) return undefined
  const reached = tiers.filter((tier) => inputTokens > tier.inputTokensAbove)
  const possible = [tokens, ...reached.map((tier) => tier.tokens)]
  const dearest = (classes: readonly (keyof TokenPrices)[]) =>
    possible
      .flatMap((one) => classes.map((name) => one[name] ?? 0n))
      .reduce((a, b) => (a > b ? a : b))
  const input = dearest([
    ...(['input', 'cachedInput', 'cacheWrite'] as const),
    ...(usage.hasAudioInput ? (['audioInput'] as const) : []),
    ...(usage.hasImageInput ? (['imageInput'] as const) : []),
  ])
  const output = dearest([
    ...(['output', 'thinkingOutput', 'imageOutput'] as const),
    ...(usage.hasAudioOutput ? (['audioOutput'] as const) : []),
  ])
  const read: CostLine = { what: 'input_tokens', units: Math.ceil(inputTokens), price: input }
  if (outputTokens === 0) return [read]
  return [read, { what: 'output_tokens', units: Math.ceil(outputTokens), price: output }]
}

/** Cost lines of pictures by price per image, and by tokens when tokens may be charged instead. */
function pictureLines(prices: Prices, usage: UpperUsage): (CostLine[] | undefined)[] {
  const { picture = {}, images } = usage
  const possible = prices.perImage.filter((row) => mayFit(row, picture))
  // The first row that fits for certain precedes the others.
  const rows = possible.slice(0, possible.findIndex((row) => fits(row, picture)) + 1 || undefined)
  const each = rows.reduce((most, { nanoUsd }) => (nanoUsd > most ? nanoUsd : most), 0)
  const { referenceImageNanoUsd: reference } = prices
  const lines: CostLine[] =
    reference === 0 || !picture.referenceImages
      ? []
      : [{ what: 'reference_images', units: picture.referenceImages, price: femtoUsd(reference) }]
  const byRow: CostLine[] | undefined =
    rows.length === 0
      ? undefined
      : [{ what: 'images', units: images, price: femtoUsd(each) }, ...lines]
  if (!prices.perImageIsEstimate && rows.some((row) => fits(row, picture))) return [byRow]
  const { tokens } = prices
  if (tokens === null) return [byRow]
  const beside = tokensBesidePicture * images + (usage.partialTokens ?? 0)
  const perToken = tokens.imageOutput ?? tokens.output ?? 0n
  const drawn =
    byRow === undefined || perToken === 0n
      ? (images * (picture.pixels ?? Infinity)) / pixelsPerToken
      : Number(divided(sumOf(byRow) * BigInt(estimateFactor), perToken))
  // `usage.outputTokens` is at most the output limit, if the vendor documents one.
  const outputTokens = Math.min(drawn + beside, usage.outputTokens)
  return [byRow, tokenLines(prices, { ...usage, outputTokens })]
}

/** Whether the price row may match the picture, whose traits are not all known yet. */
function mayFit(row: ImagePriceRow, picture: PictureTraits): boolean {
  return (
    isSame(row.sizeClass, picture.sizeClass) &&
    isSame(row.quality, picture.quality) &&
    (picture.size === undefined || isSame(row.size, picture.size)) &&
    (picture.size === undefined || isWithin(row, picture))
  )
}

/** Whether the price row matches the picture for certain, unless an earlier row does. */
function fits(row: ImagePriceRow, picture: PictureTraits): boolean {
  if (!mayFit(row, picture)) return false
  return picture.size !== undefined || (row.size === undefined && row.pixelsMax === undefined)
}

function isSame(tier: string | undefined, is: string | undefined): boolean {
  return tier === undefined || tier === is
}

function isWithin({ pixelsMax = Infinity }: ImagePriceRow, { pixels = 0 }: PictureTraits) {
  return pixels <= pixelsMax
}

/** The quotient, rounded up. */
function divided(amount: bigint, unit: bigint): bigint {
  return (amount + unit - 1n) / unit
}

/** The maximum cost of a call, to be reserved in budgets. */
type Charge = {
  caller: Caller
  tags?: readonly string[] | undefined
  requestId: string
  /** Start of the call, Unix time in milliseconds; selects the budget period. */
  at: number
  /** The longest duration of the call. */
  timeoutMs: number
  /** Ends a wait for money that other calls hold. */
  signal: AbortSignal
  /** For the ledger row that is written if the process dies during the call. */
  face: Face
  modality: Modality
  model: string
  /** The maximum cost. */
  nanoUsd: number
}

/** The amount reserved in budgets for a call, until its ledger row replaces it. */
export type Reservation = {
  /** Cancels the reservation: the call ended without a row. */
  release(): Promise<void>
  /** Writes the row of the call with `write`; then the amount is no longer reserved. A row without a cost is charged it. */
  settle(costNanoUsd: number | null, write: () => Promise<void>): Promise<void>
}

/**
 * Reserves the maximum cost of a call in all budgets of its caller, or in none. Waits a moment for
 * money that running calls hold, then throws `rate_limit_exceeded`. Throws `insufficient_quota` when a budget has
 * spent too much, and `overloaded` when the store is unavailable.
 */
export type Reserve = (charge: Charge) => Promise<Reservation>

type Asked = {
  check(route: Route): Readiness
  upperUsage(route: Route): UpperUsage
}

/** The maximum costs, on its checked routes, of a call that began at `atMs`, Unix time in milliseconds. */
export function upperCostsOf({ check, upperUsage }: Asked, atMs: number) {
  const costs = new Map<Route, number>()
  return {
    /** Checks a route, and adds a problem when its maximum cost is unknown. */
    check: (route: Route): Readiness => {
      const readiness = check(route)
      if (readiness.problems.length > 0) return readiness
      const cost = upperCost(route.model.prices, upperUsage(route), atMs)
      if (cost === undefined) return { ...readiness, problems: [withoutPrice(route)] }
      costs.set(route, cost.nanoUsd)
      return readiness
    },
    /** The maximum cost on the most expensive of these routes, in nano-dollars; only checked ones may be tried. */
    most: (routes: readonly Route[]) => Math.max(...routes.map((route) => costs.get(route)!)),
  }
}

function withoutPrice({ model: { row } }: Route) {
  const message =
    `The price of '${row.id}' is unknown, so a budget cannot cover the call. ` +
    'Choose another model, use a key and an account without a budget, or set its price in the setting `catalog`.'
  return { param: 'model', message, code: 'model_not_allowed' } as const
}
