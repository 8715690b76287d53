import type { components } from '../../../generated/types.ts'
import { prune } from '../prune.ts'

type Schemas = components['schemas']
/**
 * The counts of a usage, in the order of reports and exports: the name in the contract, the ledger and its sums, and
 * the member of `Usage`. Cached, image and audio tokens are part of the input or output; reasoning tokens are part of
 * the output.
 */
export const usageCounts = {
  input_tokens: 'inputTokens',
  cached_input_tokens: 'cachedInputTokens',
  cache_write_tokens: 'cacheWriteTokens',
  audio_input_tokens: 'audioInputTokens',
  image_input_tokens: 'imageInputTokens',
  output_tokens: 'outputTokens',
  reasoning_tokens: 'reasoningTokens',
  audio_output_tokens: 'audioOutputTokens',
  image_output_tokens: 'imageOutputTokens',
  images: 'images',
} as const satisfies Record<keyof Schemas['RequestUsage'], string>

export type UsageCount = keyof typeof usageCounts
// Object.keys and Object.entries lose the types of a constant object.
export const usageCountNames = Object.keys(usageCounts) as UsageCount[]
const countMembers = Object.values(usageCounts)

/** Billable amounts; an absent count is zero. */
export type Usage = { [Member in (typeof usageCounts)[UsageCount]]?: number } & {
  inputTokens: number
  outputTokens: number
  images: number
  /** Searches of the web, as the vendor charges them. */
  webSearches?: number
  /** Whether the counts are estimates, since the vendor reported none. */
  estimated: boolean
  /** The service tier by the vendor's name; absent when the vendor reports none. */
  serviceTier?: string
  /** The charge that the vendor reports; `upstreamNanoUsd` is a part of it. */
  reportedNanoUsd?: number
  upstreamNanoUsd?: number
}

/**
 * Nano-dollars (1e-9 USD) per million tokens, which are femto-dollars (1e-15 USD) per token. Null when a
 * price is unknown: tokens of its class are charged as text, which is an estimate.
 */
export type TokenPrices = {
  input: bigint
  cachedInput: bigint | null
  cacheWrite: bigint | null
  audioInput: bigint | null
  imageInput: bigint | null
  /** Null for models without text output: then `imageOutput` has a price, or vectors are made. */
  output: bigint | null
  /** Replaces `output` for an answer with reasoning; null when the price is the same. */
  thinkingOutput: bigint | null
  imageOutput: bigint | null
  audioOutput: bigint | null
}
/** The price of one picture; a trait that is absent matches any value. */
export type ImagePriceRow = {
  nanoUsd: number
  sizeClass?: string
  quality?: string
  size?: string
  pixelsMax?: number
}
/** A multiple of a price, as an integer: `multiplierUnit` is the price itself. */
type Multiplier = bigint
/** A range of minutes of the UTC day, the end excluded; `weekdays` are numbers as of `Date.getUTCDay`. */
type PeakHours = { fromMinute: number; toMinute: number; weekdays: readonly number[] }

/** What a price of web searches is for (openapi.yaml, WebSearchPrice). */
type SearchPrice = { nanoUsd: number; unit: Schemas['WebSearchPrice']['unit'] }

/** A model's prices as integers; `tokens` is null when no token price is known. */
export type Prices = {
  perImage: readonly ImagePriceRow[]
  /** Whether the per-image prices only estimate the cost of a picture's tokens. */
  perImageIsEstimate: boolean
  /** The price of the unit that the vendor counts in its answer. */
  unitNanoUsd?: number
  /** The price of each input picture of a call. */
  referenceImageNanoUsd: number
  tokens: TokenPrices | null
  /** Replace `tokens` for longer inputs; in ascending order. */
  tiers: readonly { inputTokensAbove: number; tokens: TokenPrices }[]
  /** Service tiers other than the default, by the vendor's name. */
  serviceTiers: ReadonlyMap<string, { multiplier: Multiplier; inputTokensMax: number }>
  offPeak: { multiplier: Multiplier; peak: readonly PeakHours[]; isPeakSure: boolean } | undefined
  /** Undefined if the model does not search the web. */
  webSearch: SearchPrice | undefined
  /** Whether the sources disagree about the prices. */
  isDoubtful: boolean
  /** Later prices, each valid from `fromMs`, Unix time in milliseconds; in ascending order. */
  changes: readonly { fromMs: number; prices: Prices }[]
}

export const noUsage: Usage = { inputTokens: 0, outputTokens: 0, images: 0, estimated: false }

const nanoDecimals = 9
/** Multipliers have the same number of decimals as dollars. */
export const multiplierUnit: Multiplier = 10n ** 9n

/** Nano-dollars of a decimal number of dollars such as `0.035`, exact to nine decimals. */
export function nanoUsd(decimal: string): bigint {
  return readDecimal(decimal, nanoDecimals)
}

/** Dollars as a decimal text without trailing zeros: 35000000 gives `0.035`. */
export function usdText(nano: number | bigint): string {
  return decimalText(nano, nanoDecimals)
}

/** Parses a decimal text as a scaled integer: `0.035` with three decimals is 35. */
export function readDecimal(text: string, decimals: number): bigint {
  const [whole = '0', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(decimals, '0').slice(0, decimals))
}

/** Formats a non-negative scaled integer as a decimal text without trailing zeros. */
export function decimalText(value: bigint | number, decimals: number): string {
  const digits = String(value).padStart(decimals + 1, '0')
  const fraction = digits.slice(-decimals).replace(/0+$/, '')
  return digits.slice(0, -decimals) + (fraction === '' ? '' : `.${fraction}`)
}

type Priced = Pick<Schemas['CatalogModel'], 'pricing' | 'price_changes' | 'doubtful'>

/** Converts a catalog row's decimal prices to integers. */
export function readPrices({ pricing, price_changes: changes = [], doubtful }: Priced): Prices {
  const isDoubtful = doubtful?.includes('pricing') ?? false
  const { unit_price: unit } = pricing
  return {
    ...(unit && { unitNanoUsd: Number(nanoUsd(unit.usd)) }),
    perImage: (pricing.per_image ?? imagePricesOf(unit)).map((row) => ({
      nanoUsd: Number(nanoUsd(row.usd)),
      ...prune({ sizeClass: row.size_class, quality: row.quality, size: row.size }),
      ...prune({ pixelsMax: row.pixels_max }),
    })),
    perImageIsEstimate: pricing.per_image_is_estimate ?? false,
    referenceImageNanoUsd: Number(nanoUsd(pricing.reference_image_usd ?? '0')),
    tokens: readTokenPrices(pricing),
    tiers: (pricing.tiers ?? []).flatMap((tier) => {
      const tokens = readTokenPrices({ ...pricing, ...tier })
      return tokens === null ? [] : [{ inputTokensAbove: tier.input_tokens_above, tokens }]
    }),
    serviceTiers: new Map(
      (pricing.service_tiers ?? []).map((tier) => {
        const inputTokensMax = tier.input_tokens_max ?? Infinity
        return [tier.service_tier, { multiplier: nanoUsd(tier.multiplier), inputTokensMax }]
      }),
    ),
    offPeak: readOffPeak(pricing.off_peak),
    webSearch: pricing.web_search && {
      nanoUsd: Number(nanoUsd(pricing.web_search.usd)),
      unit: pricing.web_search.unit,
    },
    isDoubtful,
    changes: changes.map(({ from, pricing: changed }) => ({
      fromMs: Date.parse(from),
      prices: readPrices({ pricing: changed, ...prune({ doubtful }) }),
    })),
  }
}

/** Vendors count a megapixel as a square of 1024 pixels, and a part of one as a whole. */
const megapixel = 1024 * 1024
/** Larger pictures than any model makes have no price. */
const megapixelsMax = 36

/** The prices per image that follow from the price of a unit; none for another unit than images and pixels. */
function imagePricesOf(price: Schemas['UnitPrice'] | undefined): Schemas['ImagePrice'][] {
  if (price?.unit === 'image') return [{ usd: price.usd }]
  if (price?.unit !== 'megapixel') return []
  return Array.from({ length: megapixelsMax }, (_, index) => ({
    usd: usdText(nanoUsd(price.usd) * BigInt(index + 1)),
    pixels_max: (index + 1) * megapixel,
  }))
}

function readTokenPrices(pricing: Schemas['ModelPricing']): TokenPrices | null {
  const read = (price: string | undefined) => (price === undefined ? null : nanoUsd(price))
  const input = read(pricing.input_per_million_tokens)
  if (input === null) return null
  return {
    input,
    cachedInput: read(pricing.cached_input_per_million_tokens),
    cacheWrite: read(pricing.cache_write_per_million_tokens),
    audioInput: read(pricing.audio_input_per_million_tokens),
    imageInput: read(pricing.image_input_per_million_tokens),
    output: read(pricing.output_per_million_tokens),
    thinkingOutput: read(pricing.thinking_output_per_million_tokens),
    imageOutput: read(pricing.image_output_per_million_tokens),
    audioOutput: read(pricing.audio_output_per_million_tokens),
  }
}

function readOffPeak(hours: Schemas['OffPeakPrice'] | undefined): Prices['offPeak'] {
  if (hours === undefined) return undefined
  return {
    multiplier: nanoUsd(hours.multiplier),
    peak: hours.peak.map(({ from, to, weekdays }) => ({
      fromMinute: minuteOf(from),
      toMinute: minuteOf(to),
      // Sunday is 7 in a catalog and 0 for `getUTCDay`.
      weekdays: weekdays.map((day) => day % 7),
    })),
    isPeakSure: hours.except_holidays !== true,
  }
}

function minuteOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3))
}

/** The prices that are valid at a Unix time in milliseconds. */
export function pricesAt(prices: Prices, atMs: number): Prices {
  if (prices.changes.length === 0) return prices
  return prices.changes.findLast(({ fromMs }) => fromMs <= atMs)?.prices ?? prices
}

/** Whether a Unix time in milliseconds is in the vendor's hours of full price. */
export function isPeak(peak: readonly PeakHours[], atMs: number): boolean {
  const date = new Date(atMs)
  const minute = date.getUTCHours() * 60 + date.getUTCMinutes()
  const day = date.getUTCDay()
  return peak.some(
    ({ fromMinute, toMinute, weekdays }) =>
      weekdays.includes(day) && minute >= fromMinute && minute < toMinute,
  )
}

/** A sum of amounts in the contract's form, exact however large it is. */
export function moneySumOf(nanoUsd: bigint): components['schemas']['MoneySum'] {
  const isExact = nanoUsd <= BigInt(Number.MAX_SAFE_INTEGER)
  return { usd: usdText(nanoUsd), nano_usd: isExact ? Number(nanoUsd) : null }
}

/** An amount in the contract's form. */
export function moneyOf(nanoUsd: number): components['schemas']['Money'] {
  return { usd: usdText(nanoUsd), nano_usd: nanoUsd }
}

type ReportedByVendor = 'serviceTier' | 'reportedNanoUsd' | 'upstreamNanoUsd'

/** The sum of two usages. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum: Usage = {
    ...noUsage,
    webSearches: (a.webSearches ?? 0) + (b.webSearches ?? 0),
    estimated: a.estimated || b.estimated,
    ...addReported(a, b),
  }
  for (const member of countMembers) sum[member] = (a[member] ?? 0) + (b[member] ?? 0)
  return sum
}

/** The reported charge is summed only when the vendor reported it for both parts. */
function addReported(a: Usage, b: Usage): Pick<Usage, ReportedByVendor> {
  const tiers = new Set([a.serviceTier, b.serviceTier])
  // A joined name is not in the catalog, so a mix of tiers has no price.
  const tier = tiers.size === 1 ? a.serviceTier : [...tiers].join('+')
  const isReported = a.reportedNanoUsd !== undefined && b.reportedNanoUsd !== undefined
  const upstream = (a.upstreamNanoUsd ?? 0) + (b.upstreamNanoUsd ?? 0)
  return {
    ...(tier === undefined ? {} : { serviceTier: tier }),
    ...(isReported ? { reportedNanoUsd: a.reportedNanoUsd! + b.reportedNanoUsd! } : {}),
    ...(isReported && upstream > 0 ? { upstreamNanoUsd: upstream } : {}),
  }
}
