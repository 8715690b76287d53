import type { components } from '../../generated/types.ts'

type Schemas = components['schemas']
export type Usage = Schemas['CanonicalUsage']
export type CostStatus = Schemas['CostStatus']
type CostDetails = Schemas['CostDetails']

/** Nano-dollars (1e-9 USD) per million tokens. */
type TokenPrices = {
  input: bigint
  cachedInput: bigint
  cacheWrite: bigint
  output: bigint
  imageInput: bigint
  imageOutput: bigint
}
/** The price of one picture; a trait that is absent matches any value. */
type ImagePriceRow = {
  nanoUsd: number
  sizeClass?: string
  quality?: string
  size?: string
}
/** A model's prices as integers; `tokens` is null when no token price is known. */
export type Prices = {
  perImage: readonly ImagePriceRow[]
  /** The per-image prices only estimate what the tokens of a picture cost. */
  perImageIsEstimate: boolean
  tokens: TokenPrices | null
  /** Replace `tokens` for longer inputs; in ascending order. */
  tiers: readonly { inputTokensAbove: number; tokens: TokenPrices }[]
}
/** What an answer costs; `nanoUsd` is null when no price is known. */
export type Cost = { nanoUsd: number | null; status: CostStatus; details: CostDetails }

export const noUsage: Usage = { inputTokens: 0, outputTokens: 0, images: 0, estimated: false }

const nanoPerUsd = 1_000_000_000n
const million = 1_000_000n

/** Nano-dollars of a decimal number of dollars such as `0.035`, exact to nine decimals. */
export function nanoUsd(decimal: string): bigint {
  const [whole = '0', fraction = ''] = decimal.split('.')
  return BigInt(whole) * nanoPerUsd + BigInt(fraction.padEnd(9, '0').slice(0, 9))
}

/** Dollars as a decimal text without trailing zeros: 35000000 gives `0.035`. */
export function usdText(nano: number): string {
  const digits = String(nano).padStart(10, '0')
  const fraction = digits.slice(-9).replace(/0+$/, '')
  return digits.slice(0, -9) + (fraction === '' ? '' : `.${fraction}`)
}

/** Converts a catalog row's decimal prices to integers. */
export function readPrices(pricing: Schemas['ModelPricing']): Prices {
  return {
    perImage: (pricing.per_image ?? []).map((row) => ({
      nanoUsd: Number(nanoUsd(row.usd)),
      ...(row.size_class === undefined ? {} : { sizeClass: row.size_class }),
      ...(row.quality === undefined ? {} : { quality: row.quality }),
      ...(row.size === undefined ? {} : { size: row.size }),
    })),
    perImageIsEstimate: pricing.per_image_is_estimate ?? false,
    tokens: readTokenPrices(pricing),
    tiers: (pricing.tiers ?? []).flatMap((tier) => {
      const tokens = readTokenPrices({ ...pricing, ...tier })
      return tokens === null ? [] : [{ inputTokensAbove: tier.input_tokens_above, tokens }]
    }),
  }
}

function readTokenPrices(pricing: Schemas['ModelPricing']): TokenPrices | null {
  const { input_per_million_tokens: input, output_per_million_tokens: output } = pricing
  const imageOutput = pricing.image_output_per_million_tokens
  if (input === undefined || (output === undefined && imageOutput === undefined)) return null
  const or = (price: string | undefined, otherwise: string) => nanoUsd(price ?? otherwise)
  return {
    input: nanoUsd(input),
    cachedInput: or(pricing.cached_input_per_million_tokens, input),
    cacheWrite: or(pricing.cache_write_per_million_tokens, input),
    output: or(output, imageOutput ?? '0'),
    imageInput: or(pricing.image_input_per_million_tokens, input),
    imageOutput: or(imageOutput, output ?? '0'),
  }
}

/** The traits of a picture that select its row in the per-image prices. */
export type PictureTraits = { sizeClass?: string; quality?: string; size?: string }

/** The cost of these amounts, rounded once, half up; per image where that price is exact. */
export function costOf(prices: Prices, usage: Usage, picture: PictureTraits = {}): Cost {
  const status = usage.estimated ? 'estimated' : 'exact'
  if (usage.images === 0) return tokenCost(prices, usage, status)
  const row = priceRow(prices.perImage, picture)
  if (row !== undefined && !prices.perImageIsEstimate) {
    return perImageCost(row, usage.images, 'exact')
  }
  if (usage.outputTokens > 0) return tokenCost(prices, usage, status)
  return row === undefined ? unknownCost : perImageCost(row, usage.images, 'estimated')
}

const unknownCost: Cost = { nanoUsd: null, status: 'unknown', details: {} }

function perImageCost(row: ImagePriceRow, images: number, status: CostStatus): Cost {
  return {
    nanoUsd: row.nanoUsd * images,
    status,
    details: { images, usd_per_image: row.nanoUsd / 1e9 },
  }
}

function priceRow(
  rows: readonly ImagePriceRow[],
  { sizeClass, quality, size }: PictureTraits,
): ImagePriceRow | undefined {
  return rows.find(
    (row) =>
      (row.sizeClass === undefined || row.sizeClass === sizeClass) &&
      (row.quality === undefined || row.quality === quality) &&
      (row.size === undefined || row.size === size),
  )
}

function tokenCost({ tokens, tiers }: Prices, usage: Usage, status: CostStatus): Cost {
  if (tokens === null) return unknownCost
  const tier = tiers.findLast(({ inputTokensAbove }) => usage.inputTokens > inputTokensAbove)
  const prices = tier?.tokens ?? tokens
  const cached = usage.cachedInputTokens ?? 0
  const written = usage.cacheWriteTokens ?? 0
  // Cached tokens may include picture tokens: none is charged twice.
  const uncached = Math.max(0, usage.inputTokens - cached - written)
  const imageInput = Math.min(usage.imageInputTokens ?? 0, uncached)
  const imageOutput = usage.imageOutputTokens ?? 0
  const plainInput = uncached - imageInput
  const plainOutput = Math.max(0, usage.outputTokens - imageOutput)
  const total =
    BigInt(plainInput) * prices.input +
    BigInt(cached) * prices.cachedInput +
    BigInt(written) * prices.cacheWrite +
    BigInt(imageInput) * prices.imageInput +
    BigInt(plainOutput) * prices.output +
    BigInt(imageOutput) * prices.imageOutput
  return {
    nanoUsd: Number((total + million / 2n) / million),
    status,
    details: {
      ...(usage.images > 0 ? { images: usage.images } : {}),
      usd_per_million_input_tokens: Number(prices.input) / 1e9,
      ...(cached > 0
        ? { usd_per_million_cached_input_tokens: Number(prices.cachedInput) / 1e9 }
        : {}),
      usd_per_million_output_tokens: Number(prices.output) / 1e9,
      ...(imageOutput > 0
        ? { usd_per_million_image_tokens: Number(prices.imageOutput) / 1e9 }
        : {}),
    },
  }
}
