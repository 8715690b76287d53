import type { components } from '../../../generated/types.ts'
import { decimalText, readDecimal, type Usage } from './price.ts'

/** The kind of a cost line; each amount is in one line only. */
export type Paid = components['schemas']['CostLineKind']

/** Traits that select the price of a picture, and the number of input pictures. */
export type PictureTraits = {
  sizeClass?: string
  quality?: string
  size?: string
  pixels?: number
  /** Total input pictures of all upstream calls. */
  referenceImages?: number
}

/** The usage of a failed try. */
export type Spent = {
  usage: Usage
  picture?: PictureTraits
  /** Whether the vendor may have charged more than this usage. */
  isOpen?: boolean
}

/** The exact prices of a cost, which can be computed again from these prices and the usage alone. */
export type Pricing = {
  /** The price per unit in femto-dollars (1e-15 USD), before `multiplier`; null when no price is known. */
  prices: Partial<Record<Paid, bigint>> | null
  /** The multiplier of the service tier times the multiplier of the hour, in units of 1/`multiplierOne`. */
  multiplier: bigint
  /** Whether off-peak prices applied; absent when the vendor has none. */
  offPeak?: boolean
  picture?: PictureTraits
  /** The units of `web_searches`: the ledger has no column for them. */
  webSearches?: number
  /** The part of the charge that an upstream vendor bills directly to the operator's own key. */
  upstreamNanoUsd?: number
}

/** The multiplier 1, with eighteen decimals: the product of two multipliers of the catalog is exact. */
export const multiplierOne = 10n ** 18n

/** The pricing of a cached answer, or of a call that delivered nothing: no cost. */
export const free: Pricing = { prices: {}, multiplier: multiplierOne }
/** The pricing when no price is known. */
export const unpriced: Pricing = { prices: null, multiplier: multiplierOne }

/** A line of a cost; `price` is per unit, in femto-dollars before the multiplier. */
export type CostLine = { what: Paid; units: number; price: bigint }

/** Billable units of each kind. */
const unitsOf: Readonly<Record<Paid, (usage: Usage, pricing: Pricing) => number>> = {
  input_tokens: (usage) => uncached(usage) - imageInput(usage) - audioInput(usage),
  cached_input_tokens: ({ cachedInputTokens = 0 }) => cachedInputTokens,
  cache_write_tokens: ({ cacheWriteTokens = 0 }) => cacheWriteTokens,
  image_input_tokens: imageInput,
  audio_input_tokens: audioInput,
  output_tokens: ({ outputTokens, imageOutputTokens = 0, audioOutputTokens = 0 }) =>
    Math.max(0, outputTokens - imageOutputTokens - audioOutputTokens),
  image_output_tokens: ({ imageOutputTokens = 0 }) => imageOutputTokens,
  audio_output_tokens: ({ audioOutputTokens = 0 }) => audioOutputTokens,
  images: ({ images }) => images,
  reference_images: (_usage, { picture }) => picture?.referenceImages ?? 0,
  web_searches: (_usage, { webSearches = 0 }) => webSearches,
  vendor_charge: () => 1,
  other_attempts: () => 1,
  held: () => 1,
}

function uncached({ inputTokens, cachedInputTokens = 0, cacheWriteTokens = 0 }: Usage): number {
  return Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens)
}

/** Input tokens of pictures without the cached tokens, which are charged separately. */
function imageInput(usage: Usage): number {
  return Math.min(usage.imageInputTokens ?? 0, uncached(usage))
}

function audioInput(usage: Usage): number {
  return Math.min(usage.audioInputTokens ?? 0, uncached(usage) - imageInput(usage))
}

/** The lines of a cost; none when nothing is paid for, or no price is known. */
export function linesOf(usage: Usage, pricing: Pricing): CostLine[] {
  const { prices } = pricing
  const lines: CostLine[] = []
  for (const name in prices) {
    // `prices` has no other keys.
    const what = name as Paid
    const units = unitsOf[what](usage, pricing)
    if (units > 0) lines.push({ what, units, price: prices[what]! })
  }
  return lines
}

/** The sum of the lines in femto-dollars, before the multiplier. */
export function sumOf(lines: readonly CostLine[]): bigint {
  return lines.reduce((sum, { units, price }) => sum + BigInt(units) * price, 0n)
}

export const femtoPerNano = 1_000_000n

/** The cost of a call in whole nano-dollars, rounded once, half up; null when no price is known. */
export function costNanoUsd(usage: Usage, pricing: Pricing): number | null {
  const { prices, multiplier } = pricing
  if (prices === null) return null
  const sum = sumOf(linesOf(usage, pricing))
  if (multiplier === multiplierOne) return rounded(sum, femtoPerNano)
  return rounded(sum * multiplier, femtoPerNano * multiplierOne)
}

function rounded(amount: bigint, unit: bigint): number {
  return Number((amount + unit / 2n) / unit)
}

/** Converts nano-dollars to femto-dollars. */
export function femtoUsd(nanoUsd: number): bigint {
  return BigInt(nanoUsd) * femtoPerNano
}

/** A price times the multiplier, truncated to whole femto-dollars; only for display. */
export function multiplied(price: bigint, { multiplier }: Pricing): bigint {
  return multiplier === multiplierOne ? price : (price * multiplier) / multiplierOne
}

/** The form of a pricing in the ledger; default values are left out. */
type StoredPricing = Omit<Pricing, 'prices' | 'multiplier'> & {
  /** Decimal texts of dollars for one unit; null when no price is known. */
  prices: Partial<Record<Paid, string>> | null
  /** A decimal text. */
  multiplier?: string
}

/** Decimals of the price of one unit, and of a multiplier. */
const priceDecimals = 15
const multiplierDecimals = 18

/** Serializes a pricing for the ledger (src/storage/README.md, `pricing`). */
export function pricingText(pricing: Pricing): string {
  const { prices } = pricing
  const multiplier =
    pricing.multiplier === multiplierOne
      ? undefined
      : decimalText(pricing.multiplier, multiplierDecimals)
  return JSON.stringify({ ...pricing, prices: prices && priceTexts(prices), multiplier })
}

function priceTexts(prices: NonNullable<Pricing['prices']>): StoredPricing['prices'] {
  const kept: Partial<Record<Paid, string>> = {}
  for (const name in prices) {
    // `prices` has no other keys.
    const what = name as Paid
    kept[what] = priceText(prices[what]!)
  }
  return kept
}

/** The texts of prices, since each row of a model repeats them; emptied when charges of vendors fill it. */
const printed = new Map<bigint, string>()
const printedMax = 1000

function priceText(price: bigint): string {
  let text = printed.get(price)
  if (text === undefined) {
    if (printed.size >= printedMax) printed.clear()
    printed.set(price, (text = decimalText(price, priceDecimals)))
  }
  return text
}

/** Parses the text of `pricingText`. */
export function readPricing(text: string): Pricing {
  // Only `pricingText` writes the column.
  const { prices, multiplier, ...more } = JSON.parse(text) as StoredPricing
  const read = Object.entries(prices ?? {}).map(
    ([what, price]) => [what, readDecimal(price, priceDecimals)] as const,
  )
  return {
    ...more,
    prices: prices && Object.fromEntries(read),
    multiplier:
      multiplier === undefined ? multiplierOne : readDecimal(multiplier, multiplierDecimals),
  }
}

/** The lines of a cost in the contract's form; their prices include the multiplier. */
export function linesForm(
  lines: readonly CostLine[],
  multiplier: bigint,
): { lines: components['schemas']['CostLine'][]; exact_usd: string; multiplier: string } {
  const usd = (amount: bigint) =>
    decimalText(amount * multiplier, priceDecimals + multiplierDecimals)
  return {
    lines: lines.map(({ what, units, price }) => ({
      what,
      units,
      unit_price: usd(price),
      amount: usd(price * BigInt(units)),
    })),
    exact_usd: usd(sumOf(lines)),
    multiplier: decimalText(multiplier, multiplierDecimals),
  }
}
