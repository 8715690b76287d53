import { expect } from 'chai'
import fc from 'fast-check'
import { costOf } from '../../../src/core/money/cost.ts'
import {
  multiplierUnit,
  pricesAt,
  type Prices,
  type TokenPrices,
  type Usage,
} from '../../../src/core/money/price.ts'
import type { PictureTraits } from '../../../src/core/money/pricing.ts'
import { searchesMax, upperCost } from '../../../src/core/money/upper-cost.ts'

const price = fc.bigInt({ min: 0n, max: 100_000_000_000n })
const tokenPrices: fc.Arbitrary<TokenPrices> = fc.record({
  input: price,
  cachedInput: fc.option(price),
  cacheWrite: fc.option(price),
  audioInput: fc.option(price),
  imageInput: fc.option(price),
  output: fc.option(price),
  thinkingOutput: fc.option(price),
  imageOutput: price,
  audioOutput: fc.option(price),
})
const tiers = ['flex', 'priority'] as const
const qualities = ['low', 'high'] as const
const sizes = ['1024x1024', '1536x1024'] as const
const optional = <Name extends string, T>(name: Name, values: fc.Arbitrary<T>) =>
  fc.oneof(
    fc.constant({}),
    values.map((value) => ({ [name]: value })),
  )

const imageRow = fc
  .tuple(
    fc.nat(1_000_000_000),
    optional('quality', fc.constantFrom(...qualities)),
    optional('size', fc.constantFrom(...sizes)),
    optional('pixelsMax', fc.constantFrom(1_100_000, 2_000_000)),
  )
  .map(([nanoUsd, ...traits]) => Object.assign({ nanoUsd }, ...traits) as { nanoUsd: number })

const flat = fc.record({
  perImage: fc.array(imageRow, { maxLength: 4 }),
  perImageIsEstimate: fc.boolean(),
  referenceImageNanoUsd: fc.nat(100_000_000),
  tokens: fc.option(tokenPrices, { freq: 8 }),
  tiers: fc
    .array(fc.record({ inputTokensAbove: fc.nat(5000), tokens: tokenPrices }), { maxLength: 2 })
    .map((all) => all.toSorted((a, b) => a.inputTokensAbove - b.inputTokensAbove)),
  serviceTiers: fc
    .tuple(price, price)
    .map((all) => new Map(tiers.map((name, at) => [name, tierOf(all[at]!)]))),
  offPeak: fc.option(
    fc.record({
      multiplier: fc.bigInt({ min: 1n, max: multiplierUnit }),
      peak: fc.constant([{ fromMinute: 60, toMinute: 720, weekdays: [1, 2, 3] }]),
      isPeakSure: fc.boolean(),
    }),
    { nil: undefined },
  ),
  webSearch: fc.option(
    fc.record({
      nanoUsd: fc.nat(100_000_000),
      unit: fc.constantFrom('search' as const, 'query' as const, 'answer' as const),
    }),
    { nil: undefined },
  ),
  isDoubtful: fc.boolean(),
})
const tierOf = (multiplier: bigint) => ({ multiplier, inputTokensMax: Infinity })

/** Random prices, including an announced change of all prices. */
const anyPrices: fc.Arbitrary<Prices> = fc
  .tuple(flat, flat, fc.nat(2_000_000_000_000))
  .map(([now, later, fromMs]) => ({
    ...now,
    changes: [{ fromMs, prices: { ...later, changes: [] } }],
  }))

/** Splits a number into parts, none larger than the remainder. */
const partOf = (share: number, of: number) => Math.floor((share / 100) * of)

describe('the upper bound of the cost of a call', () => {
  it('is at least the actual cost, whatever the usage within the limits', () => {
    const shares = fc.array(fc.nat(100), { minLength: 8, maxLength: 8 })
    const flags = fc.record({
      hasAudioInput: fc.boolean(),
      hasImageInput: fc.boolean(),
      hasAudioOutput: fc.boolean(),
    })
    const numbers = fc.record({ inputTokens: fc.nat(10_000), outputTokens: fc.nat(10_000) })
    const served = fc.constantFrom(undefined, ...tiers)
    const atMs = fc.nat(2_000_000_000_000)
    fc.assert(
      fc.property(
        anyPrices,
        numbers,
        flags,
        shares,
        served,
        atMs,
        (prices, most, may, of, tier, at) => {
          const usage = usageWithin(most, may, of, tier)
          const asked = tier === undefined ? {} : { serviceTier: of[7]! > 50 ? 'auto' : tier }
          const searches = 1 + (of[6]! % searchesMax)
          const { webSearch } = pricesAt(prices, at)
          if (webSearch !== undefined) {
            usage.webSearches = { search: searches, query: searchesMax, answer: 1 }[webSearch.unit]
          }
          const bounds = { ...most, ...may, images: 0, webSearches: searches, ...asked }
          const upper = upperCost(prices, bounds, at)?.nanoUsd
          const { nanoUsd } = costOf(prices, usage, { atMs: at })
          if (nanoUsd === null) return
          expect(upper).to.be.at.least(nanoUsd)
        },
      ),
      { numRuns: 2000 },
    )
  })

  it('is at least the cost of pictures, part of which is known in advance', () => {
    const made = fc.record({
      quality: fc.constantFrom(undefined, ...qualities),
      size: fc.constantFrom(...sizes),
      isSizeKnown: fc.boolean(),
      images: fc.integer({ min: 1, max: 10 }),
      referenceImages: fc.nat(20),
    })
    fc.assert(
      fc.property(anyPrices, made, fc.nat(2_000_000_000_000), (prices, one, atMs) => {
        const { images, referenceImages } = one
        const picture = traitsOf(one)
        const known = one.isSizeKnown ? picture : { ...picture, pixels: 2_000_000 }
        if (!one.isSizeKnown) delete known.size
        const bounds = {
          inputTokens: 1000,
          outputTokens: 5000,
          hasAudioInput: false,
          hasImageInput: true,
        }
        const asked = { ...bounds, hasAudioOutput: false, images, picture: known }
        const upper = upperCost(prices, asked, atMs)?.nanoUsd
        const usage = { inputTokens: 0, outputTokens: 0, images, estimated: false }
        const whole = { ...picture, referenceImages }
        const { nanoUsd } = costOf(prices, usage, { atMs, picture: whole })
        if (nanoUsd === null) return
        expect(upper).to.be.at.least(nanoUsd)
      }),
      { numRuns: 2000 },
    )
  })
})

type Most = { inputTokens: number; outputTokens: number }
type May = { hasAudioInput: boolean; hasImageInput: boolean; hasAudioOutput: boolean }

function usageWithin(most: Most, may: May, of: number[], tier: string | undefined): Usage {
  const inputTokens = partOf(of[0]!, most.inputTokens)
  const outputTokens = partOf(of[1]!, most.outputTokens)
  const cachedInputTokens = partOf(of[2]!, inputTokens)
  const cacheWriteTokens = partOf(of[3]!, inputTokens - cachedInputTokens)
  const imageOutputTokens = partOf(of[6]!, outputTokens)
  return {
    inputTokens,
    outputTokens,
    cachedInputTokens,
    cacheWriteTokens,
    imageInputTokens: may.hasImageInput ? partOf(of[4]!, inputTokens) : 0,
    audioInputTokens: may.hasAudioInput ? partOf(of[5]!, inputTokens) : 0,
    imageOutputTokens,
    audioOutputTokens: may.hasAudioOutput ? outputTokens - imageOutputTokens : 0,
    reasoningTokens: partOf(of[7]!, outputTokens),
    images: 0,
    estimated: false,
    ...(tier === undefined ? {} : { serviceTier: tier }),
  }
}

type Made = { quality: string | undefined; size: string; referenceImages: number }

function traitsOf({ quality, size, referenceImages }: Made): PictureTraits {
  const [width = 0, height = 0] = size.split('x').map(Number)
  const own = quality === undefined ? {} : { quality }
  return { ...own, size, pixels: width * height, referenceImages }
}
