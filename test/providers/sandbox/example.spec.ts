import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import fc from 'fast-check'
import { exampleOf } from '../../../src/providers/sandbox/example.ts'

type Schema = Record<string, unknown> | boolean

// Ajv does not check formats without a plugin.
const ajv = new Ajv2020({ strict: false, validateFormats: false })
const isAllowed = (schema: Schema, value: unknown) => ajv.validate(schema, value)

const bound = fc.integer({ min: -1000, max: 1000 })
/** At most one lower and one upper bound, with something in between. */
const bounds = fc
  .tuple(bound, fc.integer({ min: 2, max: 50 }), fc.nat({ max: 3 }), fc.nat({ max: 3 }))
  .map(([least, room, low, high]) => ({
    ...(low === 1 ? { minimum: least } : low === 2 ? { exclusiveMinimum: least } : {}),
    ...(high === 1 ? { maximum: least + room } : {}),
    ...(high === 2 ? { exclusiveMaximum: least + room } : {}),
  }))
const lengths = fc
  .tuple(fc.option(fc.nat({ max: 40 })), fc.option(fc.nat({ max: 40 })))
  .map(([least, more]) => ({
    ...(least === null ? {} : { minLength: least }),
    ...(more === null ? {} : { maxLength: (least ?? 0) + more }),
  }))
const counts = fc
  .tuple(fc.option(fc.nat({ max: 6 })), fc.option(fc.nat({ max: 6 })))
  .map(([least, more]) => ({
    ...(least === null ? {} : { minItems: least }),
    ...(more === null ? {} : { maxItems: (least ?? 0) + more }),
  }))
const name = fc.constantFrom('a', 'b', 'c', 'd', 'e f', 'g/h')

/** Schemas of structured outputs, with references to definitions that contain references. */
const schema: fc.Arbitrary<Schema> = fc.letrec<{ any: Schema; object: Schema }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    lengths.map((rule) => ({ type: 'string', ...rule })),
    bounds.map((rule) => ({ type: 'integer', ...rule })),
    bounds.map((rule) => ({ type: 'number', ...rule })),
    fc.integer({ min: 2, max: 9 }).map((multipleOf) => ({ type: 'integer', multipleOf })),
    fc.constantFrom<Schema>(
      true,
      {},
      { type: 'boolean' },
      { type: 'null' },
      { type: ['string', 'null'] },
      { enum: ['red', 'green'] },
      { const: { fixed: [1, null] } },
      { type: 'string', default: 'given' },
      { $ref: '#/$defs/word' },
      { $ref: '#/$defs/tree' },
      { $ref: '#/$defs/list~1of~0words' },
      { $ref: '#/$defs/chain', description: 'a chain' },
    ),
    fc.tuple(tie('any'), counts).map(([items, rule]) => ({ type: 'array', items, ...rule })),
    fc.array(tie('any'), { minLength: 1, maxLength: 3 }).map((prefixItems) => ({
      type: 'array',
      prefixItems,
      minItems: prefixItems.length,
      items: false,
    })),
    tie('any').map((one) => ({ anyOf: [one, { type: 'null' }] })),
    fc.tuple(tie('any'), tie('any')).map(([y, z]) => ({
      allOf: [
        { type: 'object', properties: { y } },
        { properties: { z }, required: ['z'] },
      ],
    })),
    tie('object'),
  ),
  object: fc
    .tuple(fc.dictionary(name, tie('any'), { maxKeys: 4 }), fc.array(name), fc.boolean())
    .map(([properties, names, closed]) => ({
      type: 'object',
      properties,
      required: [...new Set(names)].filter((one) => one in properties),
      ...(closed ? { additionalProperties: false } : {}),
    })),
})).any

const definitions = {
  word: { type: 'string', minLength: 3 },
  'list/of~words': { type: 'array', items: { $ref: '#/$defs/word' }, minItems: 2 },
  tree: {
    type: 'object',
    properties: {
      name: { $ref: '#/$defs/word' },
      leaves: { type: 'array', items: { $ref: '#/$defs/tree' } },
    },
    required: ['name', 'leaves'],
    additionalProperties: false,
  },
  chain: {
    type: 'object',
    properties: { next: { anyOf: [{ $ref: '#/$defs/chain' }, { type: 'null' }] } },
    required: ['next'],
  },
}

describe("an answer in the caller's JSON schema", () => {
  it('always matches the schema', () => {
    fc.assert(
      fc.property(schema, (inner) => {
        const whole = {
          type: 'object',
          properties: { answer: inner },
          required: ['answer'],
          additionalProperties: false,
          $defs: definitions,
        }
        const value = exampleOf(whole)
        expect(isAllowed(whole, value), JSON.stringify({ value, errors: ajv.errors })).to.equal(
          true,
        )
        ajv.removeSchema()
      }),
      { numRuns: 300 },
    )
  })

  it('is always the same', () => {
    fc.assert(
      fc.property(schema, (one) => {
        expect(exampleOf(one)).to.deep.equal(exampleOf(structuredClone(one)))
      }),
    )
  })

  for (const { name, schema, value } of [
    { name: 'the first of a list of values', schema: { enum: ['b', 'a'] }, value: 'b' },
    { name: 'the default', schema: { type: 'integer', default: 7 }, value: 7 },
    { name: 'a valid date', schema: { type: 'string', format: 'date' }, value: '2026-01-01' },
    {
      name: 'every property, also optional ones',
      schema: { type: 'object', properties: { a: { type: 'boolean' } } },
      value: { a: true },
    },
    {
      name: 'a required property without a schema',
      schema: { type: 'object', required: ['a'], additionalProperties: { type: 'string' } },
      value: { a: 'sandbox' },
    },
    { name: 'an object for an empty schema', schema: {}, value: {} },
    { name: 'an object for an invalid schema', schema: 'nonsense', value: {} },
  ]) {
    it(`is ${name}`, () => {
      expect(exampleOf(schema)).to.deep.equal(value)
    })
  }

  it('is small and quickly made for an infinitely recursive schema', () => {
    let reads = 0
    const branch = {
      get $ref() {
        if (++reads > 50_000) throw new Error('This goes on for too long.')
        return '#'
      },
    }
    const names = Array.from({ length: 30 }, (_, index) => `branch${index}`)
    const properties = Object.fromEntries(names.map((one) => [one, branch]))
    const endless = exampleOf({ type: 'object', properties, required: names })
    const wide = exampleOf({ type: 'object', properties })
    expect(JSON.stringify(endless).length).to.be.below(1_000_000)
    expect(isAllowed({ type: 'object', properties }, wide)).to.equal(true)
  })

  it('ends at circular and unresolved references', () => {
    const loop = { $ref: '#/$defs/loop', $defs: { loop: { $ref: '#/$defs/loop' } } }
    expect(exampleOf(loop)).to.deep.equal({})
    expect(exampleOf({ $ref: '#/$defs/missing' })).to.deep.equal({})
    expect(exampleOf({ $ref: 'https://example.com/schema.json' })).to.deep.equal({})
  })
})
