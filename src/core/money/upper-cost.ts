import {
  isPeak,
  multiplierUnit,
  pricesAt,
  type ImagePriceRow,
  type Prices,
  type TokenPrices,
  type Usage,
} from './price.ts'
import { femtoPerNano, femtoUsd, sumOf, type CostLine, type PictureTraits } from './pricing.ts'

/** The most that a call may use at one model (docs/behaviour.md#budgets). */
export type UpperUsage = {
  inputTokens: number
  outputTokens: number
  /** Whether sound, or pictures, are among the input. */
  hears: boolean
  sees: boolean
  /** Whether sound may be among the output. */
  speaks: boolean
  images: number
  /** What is known of the pictures beforehand. */
  picture?: PictureTraits
  /** The tier that was asked for. */
  serviceTier?: string
}

/** What a call will have used, whatever its answer is. */
export type SureUsage = { usage: Usage; picture: PictureTraits }

/** Tokens of a picture of which no price by size is known: more than any vendor tells. */
const pixelsPerToken = 64
/** What a model may write beside a picture. */
const tokensBesidePicture = 1024
/** By how much a picture may be dearer than a price that the catalog calls an estimate. */
const estimateFactor = 2

/** What it is made from, as in a cost; `nanoUsd` is rounded up. */
type UpperCost = { nanoUsd: number; lines: readonly CostLine[]; multiplier: bigint }

/**
 * The most that such a call costs: no cost that `costOf` gives for less is above it. Undefined when no
 * price is known.
 */
export function upperCost(prices: Prices, usage: UpperUsage, atMs: number): UpperCost | undefined {
  const valid = pricesAt(prices, atMs)
  const multiplier = upperMultiplier(valid, usage, atMs)
  const possible = usage.images > 0 ? pictureLines(valid, usage) : [tokenLines(valid, usage)]
  const known = possible.filter((lines) => lines !== undefined)
  if (known.length === 0) return undefined
  const lines = known.reduce((a, b) => (sumOf(a) > sumOf(b) ? a : b))
  const nanoUsd = Number(divided(sumOf(lines) * multiplier, femtoPerNano * multiplierUnit))
  return { nanoUsd, lines, multiplier: multiplier * multiplierUnit }
}

/**
 * Whether it is known beforehand which price each picture has, for all that is still unknown of them.
 */
export function isPictureSure(prices: Prices, picture: PictureTraits, atMs: number): boolean {
  const { perImage, perImageIsEstimate } = pricesAt(prices, atMs)
  const first = perImage.find((row) => mayFit(row, picture))
  return !perImageIsEstimate && first !== undefined && fits(first, picture)
}

/** A tier that was asked for may be served, or the default one; of `auto` the dearest. */
function upperMultiplier(
  { serviceTiers, offPeak }: Prices,
  { serviceTier: asked }: UpperUsage,
  atMs: number,
): bigint {
  const tiers = [...serviceTiers.values()].map((one) => one.multiplier)
  const named = asked === undefined || asked === 'default' ? [] : tiers
  const known = asked === undefined ? undefined : serviceTiers.get(asked)?.multiplier
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
    ...(usage.hears ? (['audioInput'] as const) : []),
    ...(usage.sees ? (['imageInput'] as const) : []),
  ])
  const output = dearest([
    ...(['output', 'thinkingOutput', 'imageOutput'] as const),
    ...(usage.speaks ? (['audioOutput'] as const) : []),
  ])
  return [
    { what: 'input_tokens', units: Math.ceil(inputTokens), price: input },
    { what: 'output_tokens', units: Math.ceil(outputTokens), price: output },
  ]
}

/** What pictures may cost by their own price, and by their tokens where that may count instead. */
function pictureLines(prices: Prices, usage: UpperUsage): (CostLine[] | undefined)[] {
  const { picture = {}, images } = usage
  const rows = prices.perImage.filter((row) => mayFit(row, picture))
  const each = rows.reduce((most, { nanoUsd }) => (nanoUsd > most ? nanoUsd : most), 0)
  const { referenceImageNanoUsd: reference } = prices
  const given: CostLine[] =
    reference === 0 || !picture.referenceImages
      ? []
      : [{ what: 'reference_images', units: picture.referenceImages, price: femtoUsd(reference) }]
  const byRow: CostLine[] | undefined =
    rows.length === 0
      ? undefined
      : [{ what: 'images', units: images, price: femtoUsd(each) }, ...given]
  if (!prices.perImageIsEstimate && rows.some((row) => fits(row, picture))) return [byRow]
  const { tokens } = prices
  if (tokens === null) return [byRow]
  const beside = tokensBesidePicture * images
  const perToken = tokens.imageOutput ?? tokens.output ?? 0n
  const drawn =
    byRow === undefined || perToken === 0n
      ? (images * (picture.pixels ?? Infinity)) / pixelsPerToken
      : Number(divided(sumOf(byRow) * BigInt(estimateFactor), perToken))
  // The caller says how many tokens there are at most where the vendor tells that.
  const outputTokens = Math.min(drawn + beside, usage.outputTokens)
  return [byRow, tokenLines(prices, { ...usage, outputTokens })]
}

/** Whether the price may be that of the picture, of which not all is known yet. */
function mayFit(row: ImagePriceRow, picture: PictureTraits): boolean {
  return (
    isSame(row.sizeClass, picture.sizeClass) &&
    isSame(row.quality, picture.quality) &&
    (picture.size === undefined || isSame(row.size, picture.size)) &&
    (picture.size === undefined || isWithin(row, picture))
  )
}

/** Whether the price is that of the picture, or one that stands before it is. */
function fits(row: ImagePriceRow, picture: PictureTraits): boolean {
  if (!mayFit(row, picture)) return false
  return picture.size !== undefined || (row.size === undefined && row.pixelsMax === undefined)
}

function isSame(asked: string | undefined, is: string | undefined): boolean {
  return asked === undefined || asked === is
}

function isWithin({ pixelsMax = Infinity }: ImagePriceRow, { pixels = 0 }: PictureTraits) {
  return pixels <= pixelsMax
}

/** Rounded up. */
function divided(amount: bigint, unit: bigint): bigint {
  return (amount + unit - 1n) / unit
}
