import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { createCatalog, readCatalogRows } from '../../src/catalog/catalog.ts'
import { costOf } from '../../src/core/money/cost.ts'
import { nanoUsd, noUsage, readPrices } from '../../src/core/money/price.ts'
import { settingFor } from '../../src/providers/index.ts'
import { projectFolder } from '../support/folder.ts'

const rows = readCatalogRows()
const images = rows.filter(({ image }) => image !== undefined)
const duplicates = (names: readonly string[]) =>
  names.filter((name, index) => names.indexOf(name) !== index)

describe('the rows of the catalog', () => {
  it('match their schema, in files named after their provider', () => {
    const files = readdirSync(join(projectFolder, 'src/catalog/models'))
    expect(rows).to.have.length.above(100)
    expect(files.every((name) => name.endsWith('.json'))).to.equal(true)
  })

  it('have ids and aliases that name one model each', () => {
    const names = rows.flatMap(({ id, aliases = [] }) => [id, ...aliases])
    expect(duplicates(names)).to.deep.equal([])
    expect(names).to.not.include('auto')
  })

  it('are found by id, by alias and, if unambiguous, without the provider', () => {
    const live = rows.filter(({ status }) => status !== 'deactivated')
    const catalog = createCatalog({
      rows,
      undescribed: [],
      aliases: {},
      prefixes: {},
      defaultImageModel: 'auto',
      clock: () => 0,
    })
    const short = (id: string) => id.slice(id.indexOf('/') + 1)
    const taken = new Set(duplicates(rows.map(({ id }) => short(id))))
    for (const { id, aliases = [] } of live) {
      const names = [id, ...aliases, ...(taken.has(short(id)) ? [] : [short(id)])]
      for (const name of names) expect(catalog.find(name).model.row.id, name).to.equal(id)
    }
  })

  it('name a provider that a setting enables', () => {
    const providers = [...new Set(rows.map(({ provider }) => provider))]
    const without = providers.filter((provider) => settingFor(provider) === undefined)
    expect(without).to.deep.equal([])
  })

  it('have the date of a deprecation, which a header reports', () => {
    for (const { id, status, deprecated_at: old } of rows) {
      if (status === 'deprecated') expect(old, id).to.be.a('string')
    }
  })

  it('have a note that explains doubtful members', () => {
    for (const row of rows.filter(({ doubtful }) => doubtful !== undefined)) {
      expect(row.note, row.id).to.be.a('string')
      for (const limit of ['context_window', 'max_output_tokens'] as const) {
        if (row.doubtful!.includes(limit)) expect(row[limit], row.id).to.be.a('number')
      }
    }
  })

  it('have snapshots with the name of their model and a date', () => {
    for (const { id, upstream_model: name, snapshots = [] } of rows) {
      for (const one of snapshots) {
        expect(one.startsWith(`${name}-`), `${id} ${one}`).to.equal(true)
        expect(one.slice(name.length), id).to.match(/^-\d{4}-?\d{2}-?\d{2}$/)
      }
    }
  })

  it('have successors that are not deactivated', () => {
    const byId = new Map(rows.map((row) => [row.id, row]))
    for (const { id, successor } of rows.filter((row) => row.successor !== undefined)) {
      expect(byId.get(successor!), `${id} -> ${successor}`).to.not.equal(undefined)
      expect(byId.get(successor!)?.status, `${id} -> ${successor}`).to.not.equal('deactivated')
    }
  })

  it('have valid dates in chronological order', () => {
    for (const { id, released_at: born, deprecated_at: old, deactivated_at: gone } of rows) {
      const dates = [born, old, gone].filter((date) => date !== undefined)
      for (const date of dates) expect(Date.parse(date), `${id} ${date}`).to.be.above(0)
      expect([...dates].sort(), id).to.deep.equal(dates)
    }
  })

  it('have image settings exactly if they make images', () => {
    for (const { id, capabilities, image, output_modalities: makes } of rows) {
      const able = capabilities.image_generation || capabilities.image_edit
      expect(image !== undefined, id).to.equal(able)
      expect(makes.includes('image'), id).to.equal(able)
    }
  })

  it('have a name for edits only if they edit', () => {
    for (const { id, edit_endpoint: name, image } of rows) {
      if (name !== undefined) expect(image?.reference_images_max, id).to.be.greaterThan(0)
    }
  })

  it('have a price per image that follows from the price of their unit', () => {
    for (const { id, pricing } of images) {
      const { unit_price: price, per_image: given } = pricing
      if (price === undefined || price.unit === 'second') continue
      const implied = readPrices({ pricing: { unit_price: price } }).perImage
      const least = Math.min(...readPrices({ pricing }).perImage.map(({ nanoUsd }) => nanoUsd))
      expect(given, id).to.not.equal(undefined)
      if (price.unit === 'image') expect(least, id).to.be.at.most(implied[0]!.nanoUsd)
      else expect(least, id).to.equal(implied[0]!.nanoUsd)
    }
  })

  it('have vector lengths exactly if they make embeddings, and nothing else', () => {
    for (const { id, capabilities, embedding, output_modalities: makes } of rows) {
      expect(makes.includes('embedding'), id).to.equal(embedding !== undefined)
      if (embedding === undefined) continue
      expect(makes, id).to.deep.equal(['embedding'])
      expect(Object.values(capabilities), id).to.not.include(true)
      const { dimensions, dimensions_min: least, dimensions_max: most } = embedding
      expect(dimensions, id).to.be.within(least ?? 1, most ?? Infinity)
      expect(embedding.dimension_choices ?? [dimensions], id).to.include(dimensions)
    }
  })

  it('have consistent sizes, size classes and limits for image models', () => {
    for (const { id, image } of images) {
      const { size, images_per_call_max: most, reference_images_min: least } = image!
      expect(most, id).to.be.at.least(1)
      expect(least, id).to.be.at.most(image!.reference_images_max)
      for (const text of [
        ...(size.sizes ?? []),
        ...Object.values(size.aspect_ratio_pixels ?? {}),
      ]) {
        expect(text, id).to.match(/^[1-9]\d{2,3}x[1-9]\d{2,3}$/)
      }
      if (size.kind === 'list') expect(size.sizes, id).to.have.length.above(0)
      expect(size.pixels_min ?? 0, id).to.be.below(size.pixels_max ?? Infinity)
      expect(size.side_min ?? 0, id).to.be.below(size.side_max ?? Infinity)
      for (const ratio of size.aspect_ratios ?? []) {
        expect(size.aspect_ratio_pixels ?? { [ratio]: '' }, `${id} ${ratio}`).to.have.property(
          ratio,
        )
      }
      const native = image!.native_format
      if (native && image!.output_formats) expect(image!.output_formats, id).to.include(native)
    }
  })
})

/** Current and announced prices of every model. */
function eachPricing() {
  return rows.flatMap(({ id, pricing, price_changes: changes = [] }) =>
    [pricing, ...changes.map((change) => change.pricing)].map((one) => ({ id, pricing: one })),
  )
}

/** Models that their vendor offers free of charge. */
const free = new Set(['zai/glm-4.7-flash', 'omni-moderation-latest', 'text-moderation-latest'])

describe('the prices of the catalog', () => {
  it('are decimal dollars that convert to nano-dollars exactly', () => {
    for (const { id, pricing } of eachPricing()) {
      const texts = [pricing, ...(pricing.tiers ?? [])].flatMap((prices) =>
        Object.values(prices).filter((value) => typeof value === 'string'),
      )
      texts.push(...(pricing.per_image ?? []).map(({ usd }) => usd))
      for (const text of texts) expect(text, id).to.match(/^\d+(\.\d{1,9})?$/)
    }
  })

  it('change on valid dates in ascending order', () => {
    for (const { id, price_changes: changes = [] } of rows) {
      const days = changes.map(({ from }) => from)
      for (const day of days) expect(Date.parse(day), id).to.be.above(0)
      expect([...new Set(days)].sort(), id).to.deep.equal(days)
    }
  })

  it('have an end date if the note mentions one', () => {
    const ending = rows.filter(({ note = '' }) => /introductory|promotion|until/i.test(note))
    expect(ending.map(({ id }) => id)).to.include('gemini-4-argon')
    const without = ending.filter(({ price_changes: changes = [] }) => changes.length === 0)
    expect(without.map(({ id }) => id)).to.deep.equal([])
  })

  it('have one multiplier per service tier', () => {
    for (const { id, pricing } of eachPricing()) {
      const tiers = pricing.service_tiers ?? []
      expect(duplicates(tiers.map((tier) => tier.service_tier)), id).to.deep.equal([])
      for (const { multiplier } of tiers) expect(Number(multiplier), id).to.be.within(0.1, 10)
    }
  })

  it('of pictures end with an unbounded price', () => {
    for (const { id, pricing } of eachPricing()) {
      const bounds = (pricing.per_image ?? []).map((row) => row.pixels_max)
      if (bounds.some((most) => most !== undefined)) expect(bounds.at(-1), id).to.equal(undefined)
    }
  })

  it('have tiers in ascending order of thresholds', () => {
    for (const { id, pricing } of rows) {
      const thresholds = (pricing.tiers ?? []).map((tier) => tier.input_tokens_above)
      expect(
        [...thresholds].sort((a, b) => a - b),
        id,
      ).to.deep.equal(thresholds)
      expect(duplicates(thresholds.map(String)), id).to.deep.equal([])
    }
  })

  it('of Gemini’s pictures are per token, with an estimate per picture', () => {
    const drawn = images.filter(({ provider }) => provider === 'google')
    expect(drawn).to.have.length.above(5)
    for (const { id, pricing } of drawn) {
      expect(pricing.per_image_is_estimate, id).to.equal(true)
      expect(pricing, id).to.include.any.keys('image_output_per_million_tokens')
      expect(pricing.image_input_per_million_tokens, id).to.equal(pricing.input_per_million_tokens)
    }
  })

  it('are doubtful if the note says that they are unknown or a reseller’s', () => {
    const unsure = rows.filter(
      ({ note = '', pricing }) =>
        Object.keys(pricing).length > 0 && /price[^;.]*(?:resell|not known)/i.test(note),
    )
    expect(unsure).to.have.length.above(5)
    const sure = unsure.filter(({ doubtful = [] }) => !doubtful.includes('pricing'))
    expect(sure.map(({ id }) => id)).to.deep.equal([])
  })

  it('have the same members in each tier', () => {
    for (const { id, pricing } of eachPricing()) {
      const names = Object.keys(pricing).filter((name) => /(?:input|write|output)_per/.test(name))
      for (const tier of pricing.tiers ?? []) expect(tier, id).to.include.all.keys(names)
    }
  })

  it('of Alibaba, which differ by region and length, have a source or are doubtful', () => {
    const qwen = rows.filter(({ provider, image }) => provider === 'alibaba' && image === undefined)
    const without = qwen.filter(({ doubtful, sources = [] }) => !doubtful && sources.length === 0)
    expect(without.map(({ id }) => id)).to.deep.equal([])
  })

  it('are not higher for cached tokens than for others', () => {
    for (const { id, pricing } of rows) {
      for (const price of [pricing, ...(pricing.tiers ?? [])]) {
        const { input_per_million_tokens: plain, cached_input_per_million_tokens: cached } = price
        if (plain === undefined || cached === undefined) continue
        expect(nanoUsd(cached) <= nanoUsd(plain), id).to.equal(true)
      }
    }
  })

  it('are plausible: a million tokens cost cents to hundreds of dollars', () => {
    for (const row of rows) {
      const { id } = row
      const counted = row.embedding === undefined ? 'outputTokens' : 'inputTokens'
      const used = { ...noUsage, [counted]: 1_000_000 }
      const cost = costOf(readPrices(row), used, { atMs: 0 })
      if (cost.nanoUsd === null || free.has(id)) continue
      expect(cost.nanoUsd / 1e9, id).to.be.within(0.01, 300)
    }
    for (const { id, pricing } of images) {
      for (const { usd } of pricing.per_image ?? []) {
        expect(Number(usd), id).to.be.within(0.001, 1)
      }
    }
  })

  const documented = [
    { id: 'alibaba/qwen-image', usd: '0.035' },
    { id: 'alibaba/qwen-image-plus', usd: '0.03' },
    { id: 'alibaba/qwen-image-max', usd: '0.075' },
    { id: 'zai/cogview-4', usd: '0.01' },
    { id: 'zai/glm-image', usd: '0.015' },
    { id: 'bytedance/seedream-4-0', usd: '0.035' },
    { id: 'bytedance/seedream-4-5', usd: '0.045' },
  ]
  for (const { id, usd } of documented) {
    it(`are the document's for ${id}: $${usd} a picture, $${usd} times four for four`, () => {
      const prices = readPrices(rows.find((row) => row.id === id)!)
      const cost = (images: number) => costOf(prices, { ...noUsage, images }, { atMs: 0 })
      expect(cost(1)).to.include({ nanoUsd: Number(nanoUsd(usd)), status: 'exact' })
      expect(cost(4)).to.include({ nanoUsd: 4 * Number(nanoUsd(usd)), status: 'exact' })
    })
  }
})
