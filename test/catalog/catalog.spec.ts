import { expect } from 'chai'
import { createCatalog, readCatalogRows, type CatalogOptions } from '../../src/catalog/catalog.ts'
import { GatewayError } from '../../src/core/error.ts'
import type { CatalogModel } from '../../src/core/model.ts'
import { cpuMs } from '../support/cpu-time.ts'

const [sample] = readCatalogRows()
const day = (date: string) => Date.parse(date)
const row = (id: string, more: Partial<CatalogModel> = {}): CatalogModel => {
  const {
    aliases: _,
    deprecated_at: _old,
    deactivated_at: _gone,
    successor: _next,
    ...rest
  } = sample!
  return { ...rest, id, provider: 'acme', family: 'acme', status: 'active', ...more }
}
const create = (rows: CatalogModel[], more: Partial<CatalogOptions> = {}) =>
  createCatalog({
    rows,
    undescribed: [],
    aliases: {},
    prefixes: { acme: ['acme-inc', 'models'], other: [] },
    defaultImageModel: 'painter',
    clock: () => day('2026-11-20'),
    ...more,
  })
const ids = (models: { row: CatalogModel }[]) => models.map((model) => model.row.id)

function refusal(find: () => unknown): GatewayError {
  try {
    find()
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error('It was found.')
}

describe('finding a model', () => {
  const rows = [
    row('acme/painter', { aliases: ['artist'] }),
    row('acme/twin'),
    row('other/twin', { provider: 'other' }),
    row('alone'),
  ]

  for (const { name, id } of [
    { name: 'acme/painter', id: 'acme/painter' },
    { name: 'artist', id: 'acme/painter' },
    { name: 'painter', id: 'acme/painter' },
    { name: 'alone', id: 'alone' },
    { name: 'auto', id: 'acme/painter' },
    { name: ' AUTO', id: 'acme/painter' },
    { name: 'MINE', id: 'alone' },
    { name: 'other/twin', id: 'other/twin' },
    { name: 'mine', id: 'alone' },
    { name: 'artist-of-mine', id: 'acme/painter' },
  ]) {
    it(`finds ${id} by ${name}`, () => {
      const aliases = { mine: 'alone', 'artist-of-mine': 'artist' }
      const { model, warnings } = create(rows, { aliases }).find(name)
      expect(model.row.id).to.equal(id)
      expect(warnings).to.deep.equal([])
    })
  }

  for (const name of [
    'nobody',
    'twin',
    'acme/nobody',
    'other/alone',
    'other/painter',
    'stranger/painter',
    'paint',
    '',
    ' ',
    'acme/',
    'acme/acme/acme/acme/painter',
    'painter\u0000',
    '__proto__',
    'constructor',
    'toString',
  ]) {
    it(`finds nothing by '${name}'`, () => {
      const error = refusal(() => create(rows).find(name))
      expect(error).to.include({ code: 'model_not_found', status: 404, param: 'model' })
    })
  }

  it('quotes only the start of an unknown name', () => {
    const error = refusal(() => create(rows).find('x'.repeat(100_000)))
    expect(error.message).to.have.length.below(300)
  })

  it("prefers an operator's alias to a model of that name", () => {
    const aliases = { alone: 'acme/twin' }
    expect(create(rows, { aliases }).find('alone').model.row.id).to.equal('acme/twin')
  })

  it('prefers the name of a model to the short name of another model', () => {
    const both = [row('acme/painter'), row('painter')]
    expect(create(both).find('painter').model.row.id).to.equal('painter')
  })

  it('finds any model of an endpoint that accepts any name, as undescribed', () => {
    const catalog = create(rows, { undescribed: [{ provider: 'own', models: '*' }] })
    const { model } = catalog.find('own/meta/llama:8b')
    expect(model).to.include({ undescribed: true })
    expect(model.row).to.include({ provider: 'own', upstream_model: 'meta/llama:8b' })
    expect(model.prices).to.deep.include({ perImage: [], tokens: null })
    for (const name of ['own', 'own/', 'elsewhere/llama']) {
      expect(refusal(() => catalog.find(name)).code, name).to.equal('model_not_found')
    }
  })

  it('finds the listed models of an endpoint, and no others', () => {
    const catalog = create(rows, { undescribed: [{ provider: 'own', models: ['a', 'b/c'] }] })
    expect(catalog.find('own/b/c').model.row.upstream_model).to.equal('b/c')
    expect(catalog.find('a').model.row.id).to.equal('own/a')
    expect(refusal(() => catalog.find('own/d')).code).to.equal('model_not_found')
  })
})

describe('a model at the end of its life', () => {
  const old = row('old', {
    status: 'active',
    deprecated_at: '2026-12-01',
    deactivated_at: '2027-01-01',
  })
  const next = row('next')
  const at = (date: string, rows = [old, next]) => create(rows, { clock: () => day(date) })
  const everything = { includeDeactivated: true }

  for (const { date, status } of [
    { date: '2026-11-30T23:59:59.999Z', status: 'active' },
    { date: '2026-12-01T00:00:00.000Z', status: 'deprecated' },
    { date: '2026-12-31T23:59:59.999Z', status: 'deprecated' },
    { date: '2027-01-01T00:00:00.000Z', status: 'deactivated' },
  ]) {
    it(`is ${status} at ${date}, by its announced dates`, () => {
      const { models } = at(date).list(everything, () => true)
      expect(models[0]?.row.status).to.equal(status)
    })
  }

  it('answers until its last day, and then 410 with the date', () => {
    expect(at('2026-12-31').find('old').model.row.id).to.equal('old')
    const error = refusal(() => at('2027-01-01').find('old'))
    expect(error).to.include({ code: 'model_deactivated', status: 410, param: 'model' })
    expect(error.message).to.include("'old' was deactivated on 2027-01-01")
  })

  it('is replaced by its successor, with a warning', () => {
    const replaced = { ...old, successor: 'next', aliases: ['ancient'] }
    const { model, warnings } = at('2027-01-01', [replaced, next]).find('ancient')
    expect(model.row.id).to.equal('next')
    expect(warnings).to.deep.equal([
      {
        param: 'model',
        requested: 'ancient',
        applied: 'next',
        reason: 'old was deactivated; its successor answers.',
      },
    ])
  })

  it('is replaced along a chain of successors, with a warning for each', () => {
    const first = { ...old, successor: 'middle' }
    const middle = row('middle', { status: 'deactivated', successor: 'next' })
    const { model, warnings } = at('2027-01-01', [first, middle, next]).find('old')
    expect(model.row.id).to.equal('next')
    expect(warnings.map(({ applied }) => applied)).to.deep.equal(['middle', 'next'])
  })
})

describe('listing models', () => {
  const rows = [
    row('a'),
    row('b', { status: 'deprecated', family: 'bees' }),
    row('c', { status: 'deactivated', provider: 'bees' }),
    row('d'),
  ]
  const all = () => true

  for (const { filter, expected } of [
    { filter: {}, expected: ['a', 'b', 'd'] },
    { filter: { includeDeactivated: true }, expected: ['a', 'b', 'c', 'd'] },
    { filter: { excludeDeprecated: true }, expected: ['a', 'd'] },
    { filter: { includeDeactivated: true, excludeDeprecated: true }, expected: ['a', 'c', 'd'] },
    { filter: { family: 'bees' }, expected: ['b'] },
    { filter: { family: 'bees', includeDeactivated: true }, expected: ['b', 'c'] },
    { filter: { family: ' Bees' }, expected: ['b'] },
    { filter: { family: 'wasps' }, expected: [] },
  ]) {
    it(`by ${JSON.stringify(filter)} shows ${expected.join(', ') || 'nothing'}`, () => {
      const { models, total } = create(rows).list(filter, all)
      expect(ids(models)).to.deep.equal(expected)
      expect(total).to.equal(expected.length)
    })
  }

  it('truncates the list at the limit and returns the total', () => {
    const { models, total } = create(rows).list({ limit: 2 }, all)
    expect({ ids: ids(models), total }).to.deep.equal({ ids: ['a', 'b'], total: 3 })
  })

  it('omits models that the caller cannot use', () => {
    const { models, total } = create(rows).list({}, (model) => model.row.id !== 'a')
    expect({ ids: ids(models), total }).to.deep.equal({ ids: ['b', 'd'], total: 2 })
  })

  it('shows the models that endpoints list, and no others', () => {
    const undescribed = [
      { provider: 'own', models: ['x'] },
      { provider: 'open', models: '*' as const },
    ]
    const { models } = create(rows, { undescribed }).list({}, all)
    expect(ids(models)).to.deep.equal(['a', 'b', 'd', 'own/x'])
  })
})

describe('model names in other spellings', () => {
  const rows = [
    row('gpt-9.1-mini', { upstream_model: 'gpt-9.1-mini', snapshots: ['gpt-9.1-mini-2026-08-07'] }),
    row('acme/painter', { upstream_model: 'painter-251128', aliases: ['artist'] }),
    row('acme/twin', { upstream_model: 'twin' }),
    row('other/twin', { provider: 'other', upstream_model: 'team/twin-large' }),
  ]
  const catalog = create(rows)
  const found = (name: string) => {
    const { row } = catalog.find(name).model
    const price = row.doubtful?.includes('pricing') === true ? 'doubtful' : 'sure'
    return [row.id, row.upstream_model, price]
  }

  for (const [name, id, upstream, price = 'sure'] of [
    ['GPT-9.1-Mini', 'gpt-9.1-mini', 'gpt-9.1-mini'],
    ['  gpt-9.1-mini\n', 'gpt-9.1-mini', 'gpt-9.1-mini'],
    ['gpt-9-1-mini', 'gpt-9.1-mini', 'gpt-9.1-mini'],
    ['acme/gpt-9.1-mini', 'gpt-9.1-mini', 'gpt-9.1-mini'],
    ['ACME-Inc/GPT-9.1-mini', 'gpt-9.1-mini', 'gpt-9.1-mini'],
    ['models/gpt-9.1-mini', 'gpt-9.1-mini', 'gpt-9.1-mini'],
    ['acme/models/gpt-9.1-mini', 'gpt-9.1-mini', 'gpt-9.1-mini'],
    ['gpt-9.1-mini-latest', 'gpt-9.1-mini', 'gpt-9.1-mini-latest', 'doubtful'],
    ['gpt-9.1-mini-2026-08-07', 'gpt-9.1-mini', 'gpt-9.1-mini-2026-08-07'],
    ['acme/GPT-9.1-mini-2026-08-07', 'gpt-9.1-mini', 'gpt-9.1-mini-2026-08-07'],
    ['gpt-9.1-mini-2026-09-01', 'gpt-9.1-mini', 'gpt-9.1-mini-2026-09-01', 'doubtful'],
    ['acme/gpt-9.1-mini-20260901', 'gpt-9.1-mini', 'gpt-9.1-mini-20260901', 'doubtful'],
    ['gpt-9.1-mini@20260901', 'gpt-9.1-mini', 'gpt-9.1-mini-20260901', 'doubtful'],
    ['gpt-9.1-mini-0901', 'gpt-9.1-mini', 'gpt-9.1-mini-0901', 'doubtful'],
    ['painter-251128', 'acme/painter', 'painter-251128'],
    ['Artist', 'acme/painter', 'painter-251128'],
    ['acme-inc/twin', 'acme/twin', 'twin'],
    ['team/twin-large', 'other/twin', 'team/twin-large'],
    ['twin-large', 'other/twin', 'team/twin-large'],
  ] as const) {
    it(`find ${id} as ${upstream} by '${name}', at a ${price} price`, () => {
      expect(found(name)).to.deep.equal([id, upstream, price])
    })
  }

  it('take little CPU time, however long they are', () => {
    for (const name of ['x'.repeat(1_000_000), '/'.repeat(1_000_000), '-2026'.repeat(200_000)]) {
      const find = () => refusal(() => catalog.find(name))
      expect(cpuMs(() => expect(find().code).to.equal('model_not_found'))).to.be.below(50)
    }
  })
})

describe('a model whose price will change', () => {
  const pricing = (usd: string) => ({
    input_per_million_tokens: usd,
    output_per_million_tokens: usd,
  })
  const rows = [
    row('sale', {
      pricing: pricing('1'),
      price_changes: [
        { from: '2027-01-01', pricing: pricing('2') },
        { from: '2027-02-01', pricing: pricing('3') },
      ],
    }),
  ]
  for (const { date, usd, ahead } of [
    { date: '2026-12-31T23:59:59Z', usd: '1', ahead: ['2027-01-01', '2027-02-01'] },
    { date: '2027-01-01', usd: '2', ahead: ['2027-02-01'] },
    { date: '2027-02-01', usd: '3', ahead: [] },
  ]) {
    it(`is listed at $${usd} on ${date}, with later changes`, () => {
      const catalog = create(rows, { clock: () => day(date) })
      const { models } = catalog.list({}, () => true)
      for (const { row } of [models[0]!, catalog.describe(catalog.find('sale').model)]) {
        expect(row.pricing).to.deep.equal(pricing(usd))
        expect((row.price_changes ?? []).map(({ from }) => from)).to.deep.equal(ahead)
      }
    })
  }
})
