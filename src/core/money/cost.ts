import type { components } from '../../../generated/types.ts'
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
  costNanoUsd,
  femtoPerNano,
  femtoUsd,
  multiplied,
  multiplierOne,
  unpriced,
  type Paid,
  type PictureTraits,
  type Pricing,
} from './pricing.ts'

type Schemas = components['schemas']
export type CostStatus = Schemas['CostStatus']
type CostDetails = Schemas['CostDetails']

/** The cost of an answer and its details; `nanoUsd` is null when no price is known. */
export type Cost = {
  nanoUsd: number | null
  status: CostStatus
  pricing: Pricing
  details: CostDetails
}

type Circumstances = {
  /** When the call began, Unix time in milliseconds. */
  atMs: number
  picture?: PictureTraits | undefined
}

/**
 * The cost of a usage: the charge that the vendor reports, else its cost at the catalog's prices at `atMs`
 * for the service tier. Pictures cost their price per image when this price is exact. Rounded once, half up.
 */
export function costOf(prices: Prices, usage: Usage, { atMs, picture }: Circumstances): Cost {
  const { pricing, status } = pricingOf(prices, usage, { atMs, picture })
  if (picture !== undefined) pricing.picture = picture
  const nanoUsd = costNanoUsd(usage, pricing)
  return { nanoUsd, status, pricing, details: detailsOf(usage, pricing) }
}

/** Adds the cost of other attempts of the call as one line; null when either cost is null. */
export function addCost(cost: Cost, { nanoUsd, status }: Cost): Cost {
  const { pricing, details } = cost
  const { prices } = pricing
  if (cost.nanoUsd === null || nanoUsd === null || prices === null) {
    return { ...cost, nanoUsd: null, status: 'unknown', pricing: { ...unpriced } }
  }
  // Attempts may have different multipliers, so prices are multiplied before they are combined.
  const all = multipliedPrices(pricing)
  all.other_attempts = (all.other_attempts ?? 0n) + femtoUsd(nanoUsd)
  return {
    nanoUsd: cost.nanoUsd + nanoUsd,
    status: statusOf(cost.status, status),
    pricing: { ...pricing, prices: all, multiplier: multiplierOne },
    details: { ...details, usd_other_attempts: Number(all.other_attempts / femtoPerNano) / 1e9 },
  }
}

/** The prices times the multiplier. */
function multipliedPrices(pricing: Pricing): Pricing['prices'] & {} {
  const all: Pricing['prices'] & {} = {}
  // `prices` has no other keys.
  for (const what of Object.keys(pricing.prices ?? {}) as Paid[]) {
    all[what] = multiplied(pricing.prices![what]!, pricing)
  }
  return all
}

/** The cost of several calls of one request, with the details of the first; null if one of them is null. */
export function sumOfCosts([first, ...more]: readonly [Cost, ...Cost[]]): Cost {
  return more.reduce((sum, { nanoUsd, status }) => {
    const isKnown = sum.status !== 'unknown' && status !== 'unknown'
    const joint = isKnown ? statusOf(sum.status, status) : 'unknown'
    if (sum.nanoUsd === null || nanoUsd === null) return { ...sum, nanoUsd: null, status: joint }
    return { ...sum, nanoUsd: sum.nanoUsd + nanoUsd, status: joint }
  }, first)
}

/** The status of a sum: the status of its least certain part. */
function statusOf(one: CostStatus, other: CostStatus): CostStatus {
  if (one === other) return one
  return one === 'estimated' || other === 'estimated' ? 'estimated' : 'exact'
}

type Priced = { pricing: Pricing; status: CostStatus }

const unknown = (): Priced => ({ pricing: { ...unpriced }, status: 'unknown' })

function pricingOf(prices: Prices, usage: Usage, { atMs, picture }: Circumstances): Priced {
  if (usage.reportedNanoUsd !== undefined) return reported(usage, usage.reportedNanoUsd)
  const valid = pricesAt(prices, atMs)
  const rate = rateOf(valid, usage, atMs)
  const listed = rate && listedPrices(valid, usage, picture)
  if (listed === undefined) return unknown()
  const { multiplier, offPeak, isSure } = rate!
  const status = listed.status === 'exact' && !isSure ? 'estimated' : listed.status
  const pricing: Pricing = { prices: listed.prices, multiplier }
  if (offPeak !== undefined) pricing.offPeak = offPeak
  return usage.webSearches
    ? withSearches({ pricing, status }, usage.webSearches, valid)
    : { pricing, status }
}

/** Adds the price of web searches, which has no multiplier. Searches without a price make an estimate. */
function withSearches(
  { pricing, status }: Priced,
  webSearches: number,
  { webSearch }: Prices,
): Priced {
  if (webSearch === undefined) return { pricing, status: 'estimated' }
  const prices = { ...multipliedPrices(pricing), web_searches: femtoUsd(webSearch.nanoUsd) }
  return { pricing: { ...pricing, prices, multiplier: multiplierOne, webSearches }, status }
}

function reported(usage: Usage, nanoUsd: number): Priced {
  const { upstreamNanoUsd } = usage
  const prices = { vendor_charge: femtoUsd(nanoUsd) }
  const pricing: Pricing = { prices, multiplier: multiplierOne }
  if (upstreamNanoUsd !== undefined) pricing.upstreamNanoUsd = upstreamNanoUsd
  return { pricing, status: usage.estimated ? 'estimated' : 'reported' }
}

type Rate = { multiplier: bigint; isSure: boolean; offPeak?: boolean }

/** The multiplier on the price of the default tier; undefined when it is unknown. */
function rateOf(
  prices: Prices,
  { serviceTier, inputTokens }: Usage,
  atMs: number,
): Rate | undefined {
  const rate: Rate = { multiplier: multiplierOne, isSure: !prices.isDoubtful }
  if (serviceTier !== undefined) {
    const price = prices.serviceTiers.get(serviceTier)
    if (price === undefined || inputTokens > price.inputTokensMax) return undefined
    rate.multiplier = price.multiplier * multiplierUnit
  }
  const { offPeak } = prices
  if (offPeak === undefined) return rate
  const peak = isPeak(offPeak.peak, atMs)
  rate.offPeak = !peak
  if (peak) rate.isSure &&= offPeak.isPeakSure
  else rate.multiplier = (rate.multiplier / multiplierUnit) * offPeak.multiplier
  return rate
}

type Listed = { prices: Pricing['prices']; status: CostStatus }

/** The catalog's prices for a usage; undefined when the catalog has none. */
function listedPrices(
  prices: Prices,
  usage: Usage,
  picture: PictureTraits | undefined,
): Listed | undefined {
  if (usage.images === 0) return tokenPrices(prices, usage) ?? (picture && withoutPicture(prices))
  const row = priceRow(prices.perImage, picture)
  if (row !== undefined && !prices.perImageIsEstimate) return imagePrices(row, prices, 'exact')
  // Counted tokens replace the estimate only if they have a price.
  const hasTokens = usage.imageOutputTokens && prices.tokens !== null
  if (row !== undefined && !hasTokens) return imagePrices(row, prices, 'estimated')
  return usage.outputTokens > 0 ? tokenPrices(prices, usage) : undefined
}

/** Prices for an answer without pictures of a model with only a price per image; tokens may be charged. */
function withoutPicture({ perImage }: Prices): Listed | undefined {
  return perImage.length === 0 ? undefined : { prices: {}, status: 'estimated' }
}

function imagePrices(
  { nanoUsd }: ImagePriceRow,
  { referenceImageNanoUsd: reference }: Prices,
  status: CostStatus,
): Listed {
  const each = { images: femtoUsd(nanoUsd) }
  const prices = reference === 0 ? each : { ...each, reference_images: femtoUsd(reference) }
  return { prices, status }
}

function priceRow(
  rows: readonly ImagePriceRow[],
  { sizeClass, quality, size, pixels = Infinity }: PictureTraits = {},
): ImagePriceRow | undefined {
  return rows.find(
    (row) =>
      (row.sizeClass === undefined || row.sizeClass === sizeClass) &&
      (row.quality === undefined || row.quality === quality) &&
      (row.size === undefined || row.size === size) &&
      (row.pixelsMax === undefined || pixels <= row.pixelsMax),
  )
}

/** Token classes other than text, with the fallback for an unknown price. */
const classes = [
  { what: 'cached_input_tokens', count: 'cachedInputTokens', price: 'cachedInput', text: 'input' },
  { what: 'cache_write_tokens', count: 'cacheWriteTokens', price: 'cacheWrite', text: 'input' },
  { what: 'image_input_tokens', count: 'imageInputTokens', price: 'imageInput', text: 'input' },
  { what: 'audio_input_tokens', count: 'audioInputTokens', price: 'audioInput', text: 'input' },
  { what: 'image_output_tokens', count: 'imageOutputTokens', price: 'imageOutput', text: 'output' },
  { what: 'audio_output_tokens', count: 'audioOutputTokens', price: 'audioOutput', text: 'output' },
] as const

/** Prices of the token classes in a usage; text input and the output, if it has a price, are always included. */
function tokenPrices({ tokens, tiers }: Prices, usage: Usage): Listed | undefined {
  if (tokens === null) return undefined
  const tier = tiers.findLast(({ inputTokensAbove }) => usage.inputTokens > inputTokensAbove)
  const valid = tier?.tokens ?? tokens
  const { input, imageOutput } = valid
  const output = (usage.reasoningTokens ? valid.thinkingOutput : null) ?? valid.output
  const written = output ?? imageOutput
  const prices: Pricing['prices'] & {} =
    written === null ? { input_tokens: input } : { input_tokens: input, output_tokens: written }
  let isSure = !usage.estimated && !isMixed(valid, usage) && isSplit(valid, usage)
  for (const { what, count, price, text } of classes) {
    if (!usage[count]) continue
    if (valid[price] === null) isSure = false
    prices[what] = valid[price] ?? prices[`${text}_tokens`] ?? 0n
  }
  return { prices, status: isSure ? 'exact' : 'estimated' }
}

/** Whether cached tokens have no reported class although the prices of the classes differ. */
function isMixed({ input, audioInput, imageInput }: TokenPrices, usage: Usage): boolean {
  const { cachedInputTokens, audioInputTokens, imageInputTokens } = usage
  if (!cachedInputTokens) return false
  return Boolean(
    (audioInputTokens && audioInput !== input) || (imageInputTokens && imageInput !== input),
  )
}

/** Whether output is counted by class: text has a price, and all pictures are counted. */
function isSplit({ output }: TokenPrices, usage: Usage): boolean {
  const { outputTokens, imageOutputTokens = 0, images } = usage
  if (images > 0 && imageOutputTokens === 0) return false
  return output !== null || outputTokens === imageOutputTokens
}

/** The price details of a cost, as shown in answers. */
function detailsOf({ images, serviceTier }: Usage, pricing: Pricing): CostDetails {
  const { prices, offPeak, upstreamNanoUsd: upstream } = pricing
  const details: CostDetails = {}
  if (serviceTier !== undefined) details.service_tier = serviceTier
  if (prices === null) return details
  const perMillion = (price: bigint) => Number(multiplied(price, pricing)) / 1e9
  if (images > 0) details.images = images
  if (prices.images !== undefined) {
    details.usd_per_image = Number(multiplied(prices.images, pricing) / femtoPerNano) / 1e9
  }
  const { input_tokens: input, output_tokens: output } = prices
  const { cached_input_tokens: cached, audio_input_tokens: heard } = prices
  const { image_output_tokens: drawn, audio_output_tokens: spoken } = prices
  if (input !== undefined) details.usd_per_million_input_tokens = perMillion(input)
  if (cached !== undefined) details.usd_per_million_cached_input_tokens = perMillion(cached)
  if (heard !== undefined) details.usd_per_million_audio_tokens = perMillion(heard)
  if (prices.web_searches !== undefined) {
    details.web_searches = pricing.webSearches ?? 0
    details.usd_per_web_search = Number(prices.web_searches / femtoPerNano) / 1e9
  }
  if (output !== undefined) details.usd_per_million_output_tokens = perMillion(output)
  if (drawn !== undefined) details.usd_per_million_image_tokens = perMillion(drawn)
  if (spoken !== undefined) details.usd_per_million_audio_output_tokens = perMillion(spoken)
  if (offPeak !== undefined) details.off_peak = offPeak
  if (upstream !== undefined) details.usd_upstream = upstream / 1e9
  return details
}
