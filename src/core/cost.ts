import type { components } from '../../generated/types.ts'
import {
  isPeak,
  multiplierUnit,
  pricesAt,
  type ImagePriceRow,
  type Prices,
  type Usage,
} from './price.ts'

type Schemas = components['schemas']
export type CostStatus = Schemas['CostStatus']
type CostDetails = Schemas['CostDetails']

/** What an answer costs; `nanoUsd` is null when no price is known. */
export type Cost = { nanoUsd: number | null; status: CostStatus; details: CostDetails }

/** What selects the price of a picture, and what is paid for beside it. */
export type PictureTraits = {
  sizeClass?: string
  quality?: string
  size?: string
  pixels?: number
  /** Input pictures of all upstream calls together. */
  referenceImages?: number
}

type Circumstances = {
  /** When the call began, Unix time in milliseconds. */
  atMs: number
  picture?: PictureTraits | undefined
}

/**
 * The cost of these amounts: what the vendor says that it charges, else the catalog's prices at that
 * time and in the tier that was served; per image where that price is exact. Rounded once, half up.
 */
export function costOf(prices: Prices, usage: Usage, { atMs, picture = {} }: Circumstances): Cost {
  if (usage.reportedNanoUsd !== undefined) return reportedCost(usage, usage.reportedNanoUsd)
  const valid = pricesAt(prices, atMs)
  const rate = rateOf(valid, usage, atMs)
  if (rate === undefined) return unknownCost(usage)
  const cost = listedCost(valid, usage, picture, rate.multiplier)
  if (cost.nanoUsd === null) return unknownCost(usage)
  const status = cost.status === 'exact' && !rate.isSure ? 'estimated' : cost.status
  return { ...cost, status, details: { ...cost.details, ...rate.details } }
}

function reportedCost(usage: Usage, nanoUsd: number): Cost {
  const { images, serviceTier, upstreamNanoUsd: upstream, estimated } = usage
  return {
    nanoUsd,
    status: estimated ? 'estimated' : 'reported',
    details: {
      ...(images > 0 ? { images } : {}),
      ...(serviceTier === undefined ? {} : { service_tier: serviceTier }),
      ...(upstream === undefined ? {} : { usd_upstream: upstream / 1e9 }),
    },
  }
}

function unknownCost({ serviceTier }: Usage): Cost {
  const details = serviceTier === undefined ? {} : { service_tier: serviceTier }
  return { nanoUsd: null, status: 'unknown', details }
}

type Rate = { multiplier: bigint; isSure: boolean; details: CostDetails }

/** By how much the price of the default tier is multiplied; undefined when nobody knows. */
function rateOf(prices: Prices, usage: Usage, atMs: number): Rate | undefined {
  const rate: Rate = { multiplier: multiplierUnit, isSure: !prices.isDoubtful, details: {} }
  const { serviceTier: tier } = usage
  if (tier !== undefined) {
    const price = prices.serviceTiers.get(tier)
    if (price === undefined || usage.inputTokens > price.inputTokensMax) return undefined
    rate.multiplier = price.multiplier
    rate.details.service_tier = tier
  }
  const { offPeak } = prices
  if (offPeak === undefined) return rate
  const peak = isPeak(offPeak.peak, atMs)
  rate.details.off_peak = !peak
  if (peak) rate.isSure &&= offPeak.isPeakSure
  else rate.multiplier = (rate.multiplier * offPeak.multiplier) / multiplierUnit
  return rate
}

function listedCost(
  prices: Prices,
  usage: Usage,
  picture: PictureTraits,
  multiplier: bigint,
): Cost {
  const status = usage.estimated ? 'estimated' : 'exact'
  if (usage.images === 0) return tokenCost(prices, usage, multiplier, status)
  const row = priceRow(prices.perImage, picture)
  if (row !== undefined && !prices.perImageIsEstimate) {
    return perImageCost({ row, prices, picture, images: usage.images, multiplier }, 'exact')
  }
  if (usage.outputTokens > 0) return tokenCost(prices, usage, multiplier, status)
  if (row === undefined) return unknownCost(usage)
  return perImageCost({ row, prices, picture, images: usage.images, multiplier }, 'estimated')
}

type Painted = {
  row: ImagePriceRow
  prices: Prices
  picture: PictureTraits
  images: number
  multiplier: bigint
}

function perImageCost(
  { row, prices, picture, images, multiplier }: Painted,
  status: CostStatus,
): Cost {
  const each = BigInt(row.nanoUsd) * multiplier
  const given = BigInt(prices.referenceImageNanoUsd) * BigInt(picture.referenceImages ?? 0)
  return {
    nanoUsd: rounded(each * BigInt(images) + given * multiplier, multiplierUnit),
    status,
    details: { images, usd_per_image: usdOf(each) },
  }
}

function priceRow(
  rows: readonly ImagePriceRow[],
  { sizeClass, quality, size, pixels = Infinity }: PictureTraits,
): ImagePriceRow | undefined {
  return rows.find(
    (row) =>
      (row.sizeClass === undefined || row.sizeClass === sizeClass) &&
      (row.quality === undefined || row.quality === quality) &&
      (row.size === undefined || row.size === size) &&
      (row.pixelsMax === undefined || pixels <= row.pixelsMax),
  )
}

const million = 1_000_000n

function tokenCost(
  { tokens, tiers }: Prices,
  usage: Usage,
  multiplier: bigint,
  status: CostStatus,
): Cost {
  if (tokens === null) return unknownCost(usage)
  const tier = tiers.findLast(({ inputTokensAbove }) => usage.inputTokens > inputTokensAbove)
  const prices = tier?.tokens ?? tokens
  const cached = usage.cachedInputTokens ?? 0
  const written = usage.cacheWriteTokens ?? 0
  // Cached tokens may include picture tokens: none is charged twice.
  const uncached = Math.max(0, usage.inputTokens - cached - written)
  const imageInput = Math.min(usage.imageInputTokens ?? 0, uncached)
  const audioInput = Math.min(usage.audioInputTokens ?? 0, uncached - imageInput)
  const imageOutput = usage.imageOutputTokens ?? 0
  const plainInput = uncached - imageInput - audioInput
  const plainOutput = Math.max(0, usage.outputTokens - imageOutput)
  const total =
    BigInt(plainInput) * prices.input +
    BigInt(cached) * prices.cachedInput +
    BigInt(written) * prices.cacheWrite +
    BigInt(imageInput) * prices.imageInput +
    BigInt(audioInput) * prices.audioInput +
    BigInt(plainOutput) * prices.output +
    BigInt(imageOutput) * prices.imageOutput
  const usd = (price: bigint) =>
    multiplier === multiplierUnit ? Number(price) / 1e9 : usdOf(price * multiplier)
  // Which of the cached tokens were heard is not counted, and those have a price of their own.
  const isMixed = cached > 0 && audioInput > 0 && prices.audioInput !== prices.input
  return {
    nanoUsd:
      multiplier === multiplierUnit
        ? rounded(total, million)
        : rounded(total * multiplier, million * multiplierUnit),
    status: isMixed ? 'estimated' : status,
    details: {
      ...(usage.images > 0 ? { images: usage.images } : {}),
      usd_per_million_input_tokens: usd(prices.input),
      ...(cached > 0 ? { usd_per_million_cached_input_tokens: usd(prices.cachedInput) } : {}),
      ...(audioInput > 0 ? { usd_per_million_audio_tokens: usd(prices.audioInput) } : {}),
      usd_per_million_output_tokens: usd(prices.output),
      ...(imageOutput > 0 ? { usd_per_million_image_tokens: usd(prices.imageOutput) } : {}),
    },
  }
}

function rounded(amount: bigint, unit: bigint): number {
  return Number((amount + unit / 2n) / unit)
}

/** Dollars of nano-dollars that were multiplied, to show them. */
function usdOf(multiplied: bigint): number {
  return Number(multiplied / multiplierUnit) / 1e9
}
