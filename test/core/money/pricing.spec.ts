import { expect } from 'chai'
import fc from 'fast-check'
import { costOf } from '../../../src/core/money/cost.ts'
import { readPrices, type Usage } from '../../../src/core/money/price.ts'
import {
  pricingText,
  readPricing,
  costNanoUsd,
  linesOf,
  multiplierOne,
} from '../../../src/core/money/pricing.ts'

type Row = Parameters<typeof readPrices>[0]
type Pricing = Row['pricing']

/** Dollar amounts in the notation of the catalog. */
const decimal = fc
  .tuple(fc.nat({ max: 999 }), fc.stringMatching(/^\d{1,9}$/))
  .map(([whole, fraction]) => `${whole}.${fraction}`)
const multiple = fc
  .tuple(fc.nat({ max: 3 }), fc.stringMatching(/^\d{1,9}$/))
  .map((parts) => parts.join('.'))
const count = fc.oneof(fc.constant(0), fc.nat({ max: 20 }), fc.nat({ max: 5_000_000 }))

const some = { requiredKeys: [] }
const tokenPrices = {
  input_per_million_tokens: decimal,
  cached_input_per_million_tokens: decimal,
  cache_write_per_million_tokens: decimal,
  output_per_million_tokens: decimal,
  thinking_output_per_million_tokens: decimal,
  audio_input_per_million_tokens: decimal,
  audio_output_per_million_tokens: decimal,
  image_input_per_million_tokens: decimal,
  image_output_per_million_tokens: decimal,
}
const tier = fc.record({
  input_tokens_above: fc.nat({ max: 1_000_000 }),
  input_per_million_tokens: decimal,
  output_per_million_tokens: decimal,
})
const peak = [{ from: '01:00', to: '13:00', weekdays: [1, 2, 3, 4, 5] }]
const pricing: fc.Arbitrary<Pricing> = fc.record(
  {
    ...tokenPrices,
    per_image: fc.array(fc.record({ usd: decimal }), { maxLength: 1 }),
    per_image_is_estimate: fc.boolean(),
    reference_image_usd: decimal,
    tiers: fc.array(tier, { maxLength: 1 }),
    service_tiers: multiple.map((multiplier) => [{ service_tier: 'flex', multiplier }]),
    off_peak: multiple.map((multiplier) => ({ multiplier, peak })),
  },
  some,
)
const row: fc.Arbitrary<Row> = fc.record(
  {
    pricing,
    price_changes: pricing.map((changed) => [{ from: '2026-12-01', pricing: changed }]),
  },
  { requiredKeys: ['pricing'] },
)
/** Token counts as vendors report them, including parts that overlap or exceed the total. */
const usage: fc.Arbitrary<Usage> = fc.record(
  {
    inputTokens: count,
    outputTokens: count,
    cachedInputTokens: count,
    cacheWriteTokens: count,
    audioInputTokens: count,
    imageInputTokens: count,
    imageOutputTokens: count,
    audioOutputTokens: count,
    reasoningTokens: count,
    images: fc.nat({ max: 10 }),
    estimated: fc.boolean(),
    serviceTier: fc.constantFrom('flex', 'scale'),
    reportedNanoUsd: fc.nat(),
    upstreamNanoUsd: fc.nat(),
  },
  { requiredKeys: ['inputTokens', 'outputTokens', 'images', 'estimated'] },
)
const picture = fc.option(
  fc.record({ size: fc.constant('1024x1024'), referenceImages: fc.nat({ max: 16 }) }, some),
  { nil: undefined },
)
const atMs = fc.integer({
  min: Date.parse('2026-11-20T00:00:00Z'),
  max: Date.parse('2026-12-10T00:00:00Z'),
})

describe('the stored pricing of a cost', () => {
  it('adds up line by line to the cost, with one rounding', () => {
    fc.assert(
      fc.property(row, usage, picture, atMs, (given, used, drawn, at) => {
        const cost = costOf(readPrices(given), used, { atMs: at, picture: drawn })
        const { prices, multiplier } = cost.pricing
        expect(cost.nanoUsd === null).to.equal(prices === null)
        if (cost.nanoUsd === null) return
        // Amounts as whole numbers of 1e-33 dollars.
        const exact = linesOf(used, cost.pricing)
          .map(({ units, price }) => BigInt(units) * price * multiplier)
          .reduce((sum, amount) => sum + amount, 0n)
        const nano = 10n ** 24n
        expect(2n * (BigInt(cost.nanoUsd) * nano - exact) <= nano).to.equal(true)
        expect(2n * (exact - BigInt(cost.nanoUsd) * nano) < nano).to.equal(true)
      }),
    )
  })

  it('is stored without loss, so that the cost can be calculated again', () => {
    fc.assert(
      fc.property(row, usage, picture, atMs, (given, used, drawn, at) => {
        const cost = costOf(readPrices(given), used, { atMs: at, picture: drawn })
        const kept = readPricing(pricingText(cost.pricing))
        expect(kept).to.deep.equal(cost.pricing)
        expect(costNanoUsd(used, kept)).to.equal(cost.nanoUsd)
      }),
    )
  })

  it('counts each token in one line, whatever parts are reported', () => {
    fc.assert(
      fc.property(usage, (used) => {
        const dollar = Object.fromEntries(Object.keys(tokenPrices).map((name) => [name, '1']))
        const { reportedNanoUsd: _, serviceTier: __, ...counted } = { ...used, images: 0 }
        const { pricing: found } = costOf(readPrices({ pricing: dollar }), counted, { atMs: 0 })
        const lines = linesOf(counted, found)
        const { inputTokens, cachedInputTokens = 0, cacheWriteTokens = 0 } = counted
        const { outputTokens, imageOutputTokens = 0, audioOutputTokens = 0 } = counted
        const total = lines.reduce((sum, { units }) => sum + units, 0)
        expect(total).to.equal(
          Math.max(inputTokens, cachedInputTokens + cacheWriteTokens) +
            Math.max(outputTokens, imageOutputTokens + audioOutputTokens),
        )
      }),
    )
  })

  it('multiplies the factors of tier and hour exactly', () => {
    const off_peak = { multiplier: '0.333333333', peak: [] }
    const service_tiers = [{ service_tier: 'flex', multiplier: '0.333333333' }]
    const prices = readPrices({
      pricing: {
        input_per_million_tokens: '1000000',
        output_per_million_tokens: '0',
        service_tiers,
        off_peak,
      },
    })
    const used = { inputTokens: 9, outputTokens: 0, images: 0, estimated: false }
    const cost = costOf(prices, { ...used, serviceTier: 'flex' }, { atMs: 0 })
    expect(cost.pricing.multiplier).to.equal(111_111_110_888_888_889n)
    expect(cost.pricing.multiplier < multiplierOne).to.equal(true)
    expect(cost.nanoUsd).to.equal(999_999_998)
  })
})

describe('audio tokens', () => {
  const price = { input_per_million_tokens: '1', output_per_million_tokens: '10' }
  const spoken: Usage = {
    inputTokens: 0,
    outputTokens: 1_000_000,
    audioOutputTokens: 400_000,
    images: 0,
    estimated: false,
  }
  const cost = (more: Pricing) =>
    costOf(readPrices({ pricing: { ...price, ...more } }), spoken, { atMs: 0 })

  it('have a price of their own', () => {
    const found = cost({ audio_output_per_million_tokens: '20' })
    expect(found).to.include({ nanoUsd: 14e9, status: 'exact' })
    expect(found.details).to.include({
      usd_per_million_output_tokens: 10,
      usd_per_million_audio_output_tokens: 20,
    })
  })

  it('are charged as text, as an estimate, without a price of their own', () => {
    expect(cost({})).to.include({ nanoUsd: 10e9, status: 'estimated' })
  })
})
