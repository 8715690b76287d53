import { expect } from 'chai'
import fc from 'fast-check'
import { readCatalogRows } from '../../../src/catalog/catalog.ts'
import { costOf as costAt } from '../../../src/core/money/cost.ts'
import type { PictureTraits } from '../../../src/core/money/pricing.ts'
import {
  nanoUsd,
  noUsage,
  readPrices as readRow,
  usdText,
  type Prices,
  type Usage,
} from '../../../src/core/money/price.ts'

type Pricing = Parameters<typeof readRow>[0]['pricing']
const readPrices = (pricing: Pricing) => readRow({ pricing })
const costOf = (prices: Prices, usage: Usage, picture?: PictureTraits) =>
  costAt(prices, usage, { atMs: 0, picture })

/** Whole numbers of nano-dollars, from zero to nine million dollars. */
const nano = fc.oneof(fc.nat(), fc.maxSafeNat())
/** Dollar amounts in the notation of the catalog. */
const decimal = fc
  .tuple(fc.nat({ max: 9999 }), fc.stringMatching(/^\d{0,9}$/))
  .map(([whole, fraction]) => (fraction === '' ? String(whole) : `${whole}.${fraction}`))
const count = fc.oneof(fc.nat({ max: 20 }), fc.nat({ max: 5_000_000 }))

/** Token counts whose parts never exceed the total. */
const usage: fc.Arbitrary<Usage> = fc
  .tuple(count, count, count, count, count, count)
  .map(([plainInput, cached, written, imageInput, plainOutput, imageOutput]) => ({
    inputTokens: plainInput + cached + written + imageInput,
    cachedInputTokens: cached,
    cacheWriteTokens: written,
    imageInputTokens: imageInput,
    outputTokens: plainOutput + imageOutput,
    imageOutputTokens: imageOutput,
    images: 0,
    estimated: false,
  }))
const pricing: fc.Arbitrary<Pricing> = fc.record({
  input_per_million_tokens: decimal,
  cached_input_per_million_tokens: decimal,
  cache_write_per_million_tokens: decimal,
  output_per_million_tokens: decimal,
  image_input_per_million_tokens: decimal,
  image_output_per_million_tokens: decimal,
})

describe('money', () => {
  it('survives conversion to text and back', () => {
    fc.assert(
      fc.property(nano, (amount) => {
        expect(nanoUsd(usdText(amount))).to.equal(BigInt(amount))
      }),
    )
  })

  it('is written as a plain decimal without needless zeros', () => {
    fc.assert(
      fc.property(nano, (amount) => {
        expect(usdText(amount)).to.match(/^(0|[1-9]\d*)(\.\d{0,8}[1-9])?$/)
      }),
    )
  })

  it('is the same number in JSON as in its text', () => {
    fc.assert(
      fc.property(nano, (amount) => {
        expect(amount / 1e9).to.equal(Number(usdText(amount)))
      }),
    )
  })

  it('is read exactly, to the ninth decimal', () => {
    fc.assert(
      fc.property(decimal, (text) => {
        const [whole = '', fraction = ''] = text.split('.')
        expect(nanoUsd(text)).to.equal(BigInt(whole + fraction.padEnd(9, '0')))
      }),
    )
  })

  for (const { amount, text } of [
    { amount: 0, text: '0' },
    { amount: 1, text: '0.000000001' },
    { amount: 35_000_000, text: '0.035' },
    { amount: 1_000_000_000, text: '1' },
    { amount: 1_234_567_890, text: '1.23456789' },
  ]) {
    it(`of ${amount} nano-dollars is ${text} dollars`, () => {
      expect(usdText(amount)).to.equal(text)
      expect(nanoUsd(text)).to.equal(BigInt(amount))
    })
  }
})

describe('the cost of tokens', () => {
  it('is the exact sum of its parts, rounded once, half up', () => {
    fc.assert(
      fc.property(pricing, usage, (price, used) => {
        const plainInput =
          used.inputTokens -
          used.cachedInputTokens! -
          used.cacheWriteTokens! -
          used.imageInputTokens!
        const parts: [number, string][] = [
          [plainInput, price.input_per_million_tokens!],
          [used.cachedInputTokens!, price.cached_input_per_million_tokens!],
          [used.cacheWriteTokens!, price.cache_write_per_million_tokens!],
          [used.imageInputTokens!, price.image_input_per_million_tokens!],
          [used.outputTokens - used.imageOutputTokens!, price.output_per_million_tokens!],
          [used.imageOutputTokens!, price.image_output_per_million_tokens!],
        ]
        // Computes in units of 1e-15 dollars, which need no rounding.
        const exact = parts.reduce((sum, [n, text]) => sum + BigInt(n) * nanoUsd(text), 0n)
        const { nanoUsd: cost, status } = costOf(readPrices(price), used)
        const twice = 2_000_000n * BigInt(cost!)
        expect(twice - 2n * exact > -1_000_000n && twice - 2n * exact <= 1_000_000n).to.equal(true)
        // A mixed cost may be estimated, since vendors do not report how many cached tokens are of pictures.
        const isMixed = used.cachedInputTokens! > 0 && used.imageInputTokens! > 0
        if (!isMixed) expect(status).to.equal('exact')
      }),
    )
  })

  it('rounds a half up, and less than a half down', () => {
    const prices = readPrices({
      input_per_million_tokens: '0.0005',
      output_per_million_tokens: '0.000499999',
    })
    const one = { ...noUsage, inputTokens: 1 }
    expect(costOf(prices, one).nanoUsd).to.equal(1)
    expect(costOf(prices, { ...noUsage, outputTokens: 1 }).nanoUsd).to.equal(0)
    expect(costOf(prices, { ...one, outputTokens: 1 }).nanoUsd).to.equal(1)
  })

  it('never falls when more is used', () => {
    fc.assert(
      fc.property(pricing, usage, count, (price, used, more) => {
        const prices = readPrices(price)
        const cost = (one: Usage) => costOf(prices, one).nanoUsd!
        const longer = { ...used, outputTokens: used.outputTokens + more }
        const asked = { ...used, inputTokens: used.inputTokens + more }
        expect(cost(longer)).to.be.at.least(cost(used))
        expect(cost(asked)).to.be.at.least(cost(used))
      }),
    )
  })

  const text = { input_per_million_tokens: '2', output_per_million_tokens: '10' }
  const whole: Usage = { ...noUsage, inputTokens: 1_000_000, outputTokens: 1_000_000 }
  for (const { count, name, usd } of [
    { count: 'cachedInputTokens', name: 'cached_input', usd: 11.4 },
    { count: 'cacheWriteTokens', name: 'cache_write', usd: 11.4 },
    { count: 'imageInputTokens', name: 'image_input', usd: 11.4 },
    { count: 'audioInputTokens', name: 'audio_input', usd: 11.4 },
    { count: 'imageOutputTokens', name: 'image_output', usd: 8.2 },
    { count: 'audioOutputTokens', name: 'audio_output', usd: 8.2 },
  ]) {
    it(`charges ${name} at its own price, or as an estimate at that of text`, () => {
      const used = { ...whole, [count]: 400_000 }
      const priced = readPrices({ ...text, [`${name}_per_million_tokens`]: '0.5' })
      expect(costOf(readPrices(text), used)).to.include({ nanoUsd: 12e9, status: 'estimated' })
      expect(costOf(priced, used)).to.include({ nanoUsd: Math.round(usd * 1e9), status: 'exact' })
    })
  }

  it('charges text at the price of pictures, as an estimate, without another price', () => {
    const { output_per_million_tokens: image_output_per_million_tokens, ...input } = text
    const prices = readPrices({ ...input, image_output_per_million_tokens })
    const drawn = (imageOutputTokens: number) => costOf(prices, { ...whole, imageOutputTokens })
    expect(drawn(1_000_000)).to.include({ nanoUsd: 12e9, status: 'exact' })
    expect(drawn(999_999)).to.include({ nanoUsd: 12e9, status: 'estimated' })
  })

  it('is estimated when the counts are, and unknown instead of zero without a price', () => {
    const prices = readPrices({ input_per_million_tokens: '1', output_per_million_tokens: '1' })
    const used = { ...noUsage, inputTokens: 5, estimated: true }
    expect(costOf(prices, used)).to.include({ nanoUsd: 5000, status: 'estimated' })
    const found = costOf(readPrices({}), used)
    expect(found).to.include({ nanoUsd: null, status: 'unknown' })
    expect(found.details).to.deep.equal({})
    expect(found.pricing.prices).to.equal(null)
  })

  const tiered = readCatalogRows().filter(({ pricing: { tiers } }) => tiers !== undefined)
  it('uses the tier that the input exceeds, for the whole request', () => {
    expect(tiered.map(({ id }) => id)).to.include('gemini-2.5-pro')
    for (const { id, pricing: price } of tiered) {
      const prices = readPrices(price)
      const input = (inputTokens: number) => costOf(prices, { ...noUsage, inputTokens }).nanoUsd
      const steps = [{ ...price, input_tokens_above: 0 }, ...price.tiers!]
      for (const [index, step] of steps.entries()) {
        const perMillion = nanoUsd(step.input_per_million_tokens!)
        const rounded = (tokens: number) =>
          Number((BigInt(tokens) * perMillion + 500_000n) / 1_000_000n)
        const first = step.input_tokens_above + 1
        const last = steps[index + 1]?.input_tokens_above ?? first + 1_000_000
        expect(input(first), `${id} ${first}`).to.equal(rounded(first))
        expect(input(last), `${id} ${last}`).to.equal(rounded(last))
      }
    }
  })
})

describe('the cost of pictures', () => {
  const pictures = (images: number, tokens = 0): Usage => ({
    ...noUsage,
    images,
    outputTokens: tokens,
    imageOutputTokens: tokens,
  })

  it('is exactly the price of one picture times their number', () => {
    fc.assert(
      fc.property(decimal, fc.integer({ min: 1, max: 10 }), (usd, images) => {
        const cost = costOf(readPrices({ per_image: [{ usd }] }), pictures(images))
        expect(cost.nanoUsd).to.equal(Number(nanoUsd(usd)) * images)
        expect(cost).to.have.property('status', 'exact')
        expect(cost.details).to.deep.equal({ images, usd_per_image: Number(usd) })
      }),
    )
  })

  const rows = [
    { usd: '0.04', size_class: '1K' },
    { usd: '0.08', size_class: '2K' },
    { usd: '0.01', quality: 'low', size: '1024x1024' },
    { usd: '0.02', quality: 'low' },
  ]
  for (const { traits, usd } of [
    { traits: { sizeClass: '1K' }, usd: 0.04 },
    { traits: { sizeClass: '2K', quality: 'low' }, usd: 0.08 },
    { traits: { quality: 'low', size: '1024x1024' }, usd: 0.01 },
    { traits: { quality: 'low', size: '1536x1024' }, usd: 0.02 },
    { traits: { quality: 'high' }, usd: undefined },
    { traits: {}, usd: undefined },
  ]) {
    it(`of ${JSON.stringify(traits)} uses the first matching row: ${usd ?? 'none'}`, () => {
      const cost = costOf(readPrices({ per_image: rows }), pictures(1), traits)
      expect(cost.details.usd_per_image).to.equal(usd)
      expect(cost.status).to.equal(usd === undefined ? 'unknown' : 'exact')
    })
  }

  const both = { per_image: [{ usd: '0.05' }], image_output_per_million_tokens: '40' }
  const tokens = { ...both, input_per_million_tokens: '5' }
  for (const { name, price, used, expected } of [
    {
      name: 'is per picture when the list says so, whatever the tokens',
      price: tokens,
      used: pictures(2, 1000),
      expected: { nanoUsd: 100_000_000, status: 'exact' },
    },
    {
      name: 'is per token when the price of a picture is an estimate',
      price: { ...tokens, per_image_is_estimate: true },
      used: pictures(2, 1000),
      expected: { nanoUsd: 40_000_000, status: 'exact' },
    },
    {
      name: 'is estimated from the list when the tokens are not reported',
      price: { ...tokens, per_image_is_estimate: true },
      used: pictures(2),
      expected: { nanoUsd: 100_000_000, status: 'estimated' },
    },
    {
      name: 'is unknown when neither is available',
      price: {},
      used: pictures(2, 1000),
      expected: { nanoUsd: null, status: 'unknown' },
    },
  ]) {
    it(name, () => {
      expect(costOf(readPrices(price), used)).to.include(expected)
    })
  }
})
