import type { components } from '../../../generated/types.ts'
import { decimalText, readDecimal, type Usage } from './price.ts'

/** What a line of a cost is for; no amount is in two of them. */
export type Paid = components['schemas']['CostLineKind']

/** What selects the price of a picture, and what is paid for beside it. */
export type PictureTraits = {
  sizeClass?: string
  quality?: string
  size?: string
  pixels?: number
  /** Input pictures of all upstream calls together. */
  referenceImages?: number
}

/** What a vendor has used and made in a try that failed. */
export type Spent = {
  usage: Usage
  picture?: PictureTraits
  /** Another part of the try may have been charged, which only the vendor knows. */
  isOpen?: boolean
}

/**
 * What a cost was made from, beside the amounts. The catalog is not needed to calculate it again, and
 * nothing in it is rounded.
 */
export type Pricing = {
  /** Femto-dollars (1e-15 USD) each, before `multiplier`; null when no price is known. */
  prices: Partial<Record<Paid, bigint>> | null
  /** That of the service tier times that of the hour, in parts of `onefold`. */
  multiplier: bigint
  /** Whether it was an hour in which the vendor asks for less, where it has such hours. */
  offPeak?: boolean
  picture?: PictureTraits
  /** The part of the vendor's charge that another vendor bills to a key of the operator's own. */
  upstreamNanoUsd?: number
}

/** A multiplier that changes nothing; it has eighteen decimals, so that two of the catalog's fit. */
export const onefold = 10n ** 18n

/** Nothing is paid for: a cached answer, or a call that delivered nothing. */
export const free: Pricing = { prices: {}, multiplier: onefold }
/** No price is known. */
export const unpriced: Pricing = { prices: null, multiplier: onefold }

/** A part of a cost: so many units at this price each, in femto-dollars before the multiplier. */
export type CostLine = { what: Paid; units: number; price: bigint }

/** How many units of each kind there are to pay for. */
const unitsOf: Readonly<Record<Paid, (usage: Usage, picture: PictureTraits) => number>> = {
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
  reference_images: (_usage, { referenceImages = 0 }) => referenceImages,
  vendor_charge: () => 1,
  other_attempts: () => 1,
  held: () => 1,
}

function uncached({ inputTokens, cachedInputTokens = 0, cacheWriteTokens = 0 }: Usage): number {
  return Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens)
}

/** Cached tokens may include those of pictures and sound: none is charged twice. */
function imageInput(usage: Usage): number {
  return Math.min(usage.imageInputTokens ?? 0, uncached(usage))
}

function audioInput(usage: Usage): number {
  return Math.min(usage.audioInputTokens ?? 0, uncached(usage) - imageInput(usage))
}

/** The lines of a cost; none when nothing is paid for, or no price is known. */
export function linesOf(usage: Usage, { prices, picture = {} }: Pricing): CostLine[] {
  const lines: CostLine[] = []
  for (const name in prices) {
    // `prices` has no other keys.
    const what = name as Paid
    const units = unitsOf[what](usage, picture)
    if (units > 0) lines.push({ what, units, price: prices[what]! })
  }
  return lines
}

/** Lines together in femto-dollars, before the multiplier. */
export function sumOf(lines: readonly CostLine[]): bigint {
  return lines.reduce((sum, { units, price }) => sum + BigInt(units) * price, 0n)
}

export const femtoPerNano = 1_000_000n

/** What a call costs in whole nano-dollars, rounded once, half up; null when no price is known. */
export function costNanoUsd(usage: Usage, pricing: Pricing): number | null {
  const { prices, multiplier } = pricing
  if (prices === null) return null
  const sum = sumOf(linesOf(usage, pricing))
  if (multiplier === onefold) return rounded(sum, femtoPerNano)
  return rounded(sum * multiplier, femtoPerNano * onefold)
}

function rounded(amount: bigint, unit: bigint): number {
  return Number((amount + unit / 2n) / unit)
}

/** So many nano-dollars as a price. */
export function femtoUsd(nanoUsd: number): bigint {
  return BigInt(nanoUsd) * femtoPerNano
}

/** A price with the multiplier, cut to whole femto-dollars: to show it. */
export function multiplied(price: bigint, { multiplier }: Pricing): bigint {
  return multiplier === onefold ? price : (price * multiplier) / onefold
}

/** A pricing as a row of the ledger keeps it; what is as usual is left out. */
export type KeptPricing = Omit<Pricing, 'prices' | 'multiplier'> & {
  /** Decimal texts of dollars for one unit; null when no price is known. */
  prices: Partial<Record<Paid, string>> | null
  /** A decimal text. */
  multiplier?: string
}

/** Digits behind the point of the price of one unit, and of a multiplier. */
export const priceDecimals = 15
export const multiplierDecimals = 18

/** The JSON that a row keeps of a pricing (src/storage/README.md, `pricing`). */
export function pricingText({ prices, multiplier, ...more }: Pricing): string {
  const kept: KeptPricing = { prices: prices && priceTexts(prices) }
  if (multiplier !== onefold) kept.multiplier = decimalText(multiplier, multiplierDecimals)
  return JSON.stringify(Object.assign(kept, more))
}

function priceTexts(prices: NonNullable<Pricing['prices']>): KeptPricing['prices'] {
  const kept: Partial<Record<Paid, string>> = {}
  for (const name in prices) {
    // `prices` has no other keys.
    const what = name as Paid
    kept[what] = decimalText(prices[what]!, priceDecimals)
  }
  return kept
}

/** What `pricingText` wrote. */
export function readPricing(text: string): Pricing {
  // Only `pricingText` writes the column.
  const { prices, multiplier, ...more } = JSON.parse(text) as KeptPricing
  const read = Object.entries(prices ?? {}).map(
    ([what, price]) => [what, readDecimal(price, priceDecimals)] as const,
  )
  return {
    ...more,
    prices: prices && Object.fromEntries(read),
    multiplier: multiplier === undefined ? onefold : readDecimal(multiplier, multiplierDecimals),
  }
}

/** The lines of a cost in the contract's form; `multiplier` is a part of each of their prices. */
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
