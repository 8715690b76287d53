import { expect } from 'chai'
import fc from 'fast-check'
import { costOf } from '../../../src/core/money/cost.ts'
import { noUsage, readPrices, type Usage } from '../../../src/core/money/price.ts'
import { costNanoUsd, pricingText, readPricing } from '../../../src/core/money/pricing.ts'

type Row = Parameters<typeof readPrices>[0]

const flat = { input_per_million_tokens: '2', output_per_million_tokens: '10' }
const used: Usage = { ...noUsage, inputTokens: 1_000_000, outputTokens: 100_000 }
const cost = (row: Row, usage: Usage, at = '2026-11-20T12:00:00Z') =>
  costOf(readPrices(row), usage, { atMs: Date.parse(at) })

describe('the price of a service tier', () => {
  const tiered: Row = {
    pricing: {
      ...flat,
      service_tiers: [
        { service_tier: 'flex', multiplier: '0.5' },
        { service_tier: 'priority', multiplier: '1.8', input_tokens_max: 1_000_000 },
      ],
    },
  }
  const rows = [
    { tier: undefined, nanoUsd: 3_000_000_000, status: 'exact' },
    { tier: 'flex', nanoUsd: 1_500_000_000, status: 'exact' },
    { tier: 'priority', nanoUsd: 5_400_000_000, status: 'exact' },
    { tier: 'scale', nanoUsd: null, status: 'unknown' },
  ]
  for (const { tier, nanoUsd, status } of rows) {
    it(`is ${nanoUsd === null ? 'unknown' : 'that of the catalog'} for ${tier ?? 'the default'}`, () => {
      const usage = tier === undefined ? used : { ...used, serviceTier: tier }
      const found = cost(tiered, usage)
      expect(found).to.include({ nanoUsd, status })
      expect(found.details.service_tier).to.equal(tier)
    })
  }

  it('is unknown for inputs above the listed maximum', () => {
    const longer = { ...used, inputTokens: 1_000_001, serviceTier: 'priority' }
    expect(cost(tiered, longer)).to.include({ nanoUsd: null, status: 'unknown' })
  })

  it('is rounded once, together with the tokens', () => {
    const pricing = { input_per_million_tokens: '0.001', output_per_million_tokens: '0' }
    const halved = { ...pricing, service_tiers: [{ service_tier: 'flex', multiplier: '0.5' }] }
    fc.assert(
      fc.property(fc.nat({ max: 5_000_000 }), (inputTokens) => {
        const usage = { ...noUsage, inputTokens, serviceTier: 'flex' }
        // A token costs half a nano-dollar. Half nano-dollars are rounded up.
        expect(cost({ pricing: halved }, usage).nanoUsd).to.equal(Math.ceil(inputTokens / 2))
      }),
    )
  })

  it('includes the applied prices', () => {
    expect(cost(tiered, { ...used, serviceTier: 'flex' }).details).to.deep.equal({
      service_tier: 'flex',
      usd_per_million_input_tokens: 1,
      usd_per_million_output_tokens: 5,
    })
  })
})

describe('the price at a time of day', () => {
  const weekdays = [1, 2, 3, 4, 5]
  const peak = [
    { from: '01:00', to: '04:00', weekdays },
    { from: '06:00', to: '10:00', weekdays },
  ]
  const row: Row = { pricing: { ...flat, off_peak: { multiplier: '0.5', peak } } }
  const full = 3_000_000_000
  const hours: [string, number][] = [
    ['2026-11-20T00:59:59.999Z', full / 2],
    ['2026-11-20T01:00:00Z', full],
    ['2026-11-20T03:59:59Z', full],
    ['2026-11-20T04:00:00Z', full / 2],
    ['2026-11-20T09:59:59Z', full],
    ['2026-11-20T10:00:00Z', full / 2],
    ['2026-11-21T07:00:00Z', full / 2],
    ['2026-11-22T07:00:00Z', full / 2],
    ['2026-11-23T07:00:00Z', full],
  ]
  for (const [at, nanoUsd] of hours) {
    it(`is ${nanoUsd === full ? 'full' : 'half'} at ${at}`, () => {
      const found = cost(row, used, at)
      expect(found).to.include({ nanoUsd, status: 'exact' })
      expect(found.details.off_peak).to.equal(nanoUsd !== full)
    })
  }

  it('is an estimate in peak hours when holidays, which are not listed, are cheaper', () => {
    const off_peak = { multiplier: '0.5', peak, except_holidays: true }
    const holidays: Row = { pricing: { ...flat, off_peak } }
    expect(cost(holidays, used, '2026-11-20T07:00:00Z').status).to.equal('estimated')
    expect(cost(holidays, used, '2026-11-20T11:00:00Z').status).to.equal('exact')
  })
})

describe('a price that changes', () => {
  const dearer = { input_per_million_tokens: '4', output_per_million_tokens: '20' }
  const dearest = { input_per_million_tokens: '8', output_per_million_tokens: '40' }
  const row: Row = {
    pricing: flat,
    price_changes: [
      { from: '2027-01-01', pricing: dearer },
      { from: '2027-07-01', pricing: dearest },
    ],
  }
  const days: [string, number][] = [
    ['2026-12-31T23:59:59.999Z', 3],
    ['2027-01-01T00:00:00Z', 6],
    ['2027-06-30T23:59:59Z', 6],
    ['2027-07-01T00:00:00Z', 12],
  ]
  for (const [at, usd] of days) {
    it(`is $${usd} at ${at}`, () => {
      expect(cost(row, used, at)).to.include({ nanoUsd: usd * 1e9, status: 'exact' })
    })
  }

  it('is never exact when the sources disagree', () => {
    const doubtful: Row = { ...row, doubtful: ['pricing'] }
    expect(cost(doubtful, used)).to.include({ nanoUsd: 3e9, status: 'estimated' })
    expect(cost(doubtful, used, '2027-01-02')).to.include({ nanoUsd: 6e9, status: 'estimated' })
  })
})

describe('the price of a web search', () => {
  const pricing = {
    ...flat,
    service_tiers: [{ service_tier: 'flex', multiplier: '0.5' }],
    web_search: { usd: '0.014', unit: 'query' as const },
  }
  const searched = { ...used, webSearches: 3 }

  it('is a line of its own, which the service tier does not change', () => {
    const full = cost({ pricing }, searched)
    expect(full).to.include({ nanoUsd: 3_042_000_000, status: 'exact' })
    const half = cost({ pricing }, { ...searched, serviceTier: 'flex' })
    expect(half).to.include({ nanoUsd: 1_542_000_000, status: 'exact' })
    expect(half.details).to.deep.equal({
      service_tier: 'flex',
      usd_per_million_input_tokens: 1,
      usd_per_million_output_tokens: 5,
      web_searches: 3,
      usd_per_web_search: 0.014,
    })
  })

  it('can be calculated again from the row alone', () => {
    fc.assert(
      fc.property(fc.nat(1000), fc.nat(1_000_000), (webSearches, inputTokens) => {
        const usage = { ...noUsage, inputTokens, webSearches, serviceTier: 'flex' }
        const { nanoUsd, pricing: paid } = cost({ pricing }, usage)
        const kept = readPricing(pricingText(paid))
        // The ledger has no column for the searches.
        expect(costNanoUsd({ ...noUsage, inputTokens }, kept)).to.equal(nanoUsd)
        expect(nanoUsd).to.equal(inputTokens * 1000 + webSearches * 14_000_000)
      }),
    )
  })

  it('is unknown for a search that the model should not make: an estimate', () => {
    const { web_search: _search, ...without } = pricing
    const found = cost({ pricing: without }, searched)
    expect(found).to.include({ nanoUsd: 3_000_000_000, status: 'estimated' })
  })
})

describe('the charge that the vendor reports', () => {
  it('overrides every price of the catalog', () => {
    const reported = { ...used, reportedNanoUsd: 7, serviceTier: 'scale' }
    const found = cost({ pricing: flat }, reported)
    expect(found).to.include({ nanoUsd: 7, status: 'reported' })
    expect(found.details).to.deep.equal({ service_tier: 'scale' })
    expect(found.pricing.prices).to.deep.equal({ vendor_charge: 7_000_000n })
  })

  it('is an estimate for a stream that ended early', () => {
    const reported = { ...used, reportedNanoUsd: 7, estimated: true }
    expect(cost({ pricing: {} }, reported)).to.include({ nanoUsd: 7, status: 'estimated' })
  })

  it('may be zero', () => {
    const free = { ...used, reportedNanoUsd: 0 }
    expect(cost({ pricing: flat }, free)).to.include({ nanoUsd: 0, status: 'reported' })
  })
})

describe('an estimated price of a picture', () => {
  const pricing = { per_image: [{ usd: '0.03' }], per_image_is_estimate: true }
  const drawn: Usage = { ...noUsage, images: 1, outputTokens: 1000, imageOutputTokens: 1000 }
  const priced = {
    ...pricing,
    input_per_million_tokens: '2',
    image_output_per_million_tokens: '40',
  }

  it('is replaced by that of counted tokens', () => {
    expect(cost({ pricing: priced }, drawn)).to.include({ nanoUsd: 40_000_000, status: 'exact' })
  })

  it('stays if tokens have no price', () => {
    expect(cost({ pricing }, drawn)).to.include({ nanoUsd: 30_000_000, status: 'estimated' })
  })
})

describe('the price of audio input', () => {
  const row: Row = { pricing: { ...flat, audio_input_per_million_tokens: '5' } }
  const heard: Usage = { ...noUsage, inputTokens: 1_000_000, audioInputTokens: 200_000 }

  it('is that of audio', () => {
    // The cost of 800 000 tokens at $2 and 200 000 tokens at $5 a million.
    const found = cost(row, heard)
    expect(found).to.include({ nanoUsd: 2_600_000_000, status: 'exact' })
    expect(found.details).to.include({ usd_per_million_audio_tokens: 5 })
  })

  it('is an estimate when cached tokens have no reported type', () => {
    const cached = { ...heard, cachedInputTokens: 100_000 }
    const priced = { ...flat, cached_input_per_million_tokens: '1' }
    const status = (audio: string) =>
      cost({ pricing: { ...priced, audio_input_per_million_tokens: audio } }, cached).status
    expect(status('5')).to.equal('estimated')
    expect(status(flat.input_per_million_tokens)).to.equal('exact')
  })
})

describe('the price of a picture', () => {
  const row: Row = {
    pricing: {
      per_image: [{ usd: '0.02', pixels_max: 2_360_000 }, { usd: '0.035' }],
      reference_image_usd: '0.008',
    },
  }
  const one: Usage = { ...noUsage, images: 1 }
  const prices = readPrices(row)

  for (const [pixels, referenceImages, usd] of [
    [2_360_000, 0, 0.02],
    [2_360_001, 0, 0.035],
    [4_194_304, 3, 0.059],
  ] as const) {
    it(`of ${pixels} pixels from ${referenceImages} is $${usd}`, () => {
      const found = costOf(prices, one, { atMs: 0, picture: { pixels, referenceImages } })
      expect(found).to.include({ nanoUsd: Math.round(usd * 1e9), status: 'exact' })
    })
  }
})
