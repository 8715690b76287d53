import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import fc from 'fast-check'
import { narrowSchema } from '../../../src/providers/anthropic/schema.ts'
import { exampleOf } from '../../../src/providers/sandbox/example.ts'
import { checkSchema } from '../../support/anthropic-schema.ts'

type Schema = Record<string, unknown>

const names = fc.constantFrom('a', 'b', '$ref', 'type')
const scalar = fc.oneof(
  fc.record(
    { type: fc.constant('string'), minLength: fc.nat(3), format: fc.constantFrom('date', 'x-own') },
    { requiredKeys: ['type'] },
  ),
  fc.record({ type: fc.constant('integer'), minimum: fc.nat(9) }, { requiredKeys: ['type'] }),
  fc.constant({ type: ['string', 'null'] }),
  fc.constant({ enum: ['x', 1, null] }),
  fc.constant({ const: true }),
  fc.constant({ $ref: '#/$defs/point' }),
)
const schemas = fc.letrec<{ schema: Schema }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4 },
    scalar,
    fc.record(
      {
        type: fc.constant('object'),
        properties: fc.dictionary(names, tie('schema'), { minKeys: 1 }),
        additionalProperties: fc.constantFrom<unknown>(true, false, {}),
        description: fc.string(),
        $schema: fc.constant('any'),
      },
      { requiredKeys: ['type', 'properties'] },
    ),
    fc.record(
      { type: fc.constant('array'), items: tie('schema'), minItems: fc.nat(3) },
      { requiredKeys: ['type', 'items'] },
    ),
    fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 1 }) }),
    fc.record({ allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 1 }) }),
  ),
})).schema
const point = { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] }

describe('a schema for Anthropic', () => {
  it('is in its subset, and matching values match the original schema', () => {
    fc.assert(
      fc.property(schemas, (inner) => {
        const asked = { type: 'object', properties: { inner }, $defs: { point } }
        const narrow = narrowSchema(asked)!
        checkSchema(narrow.schema)
        if (narrow.moved.some((keyword) => keyword !== 'additionalProperties')) return
        const follows = new Ajv2020({ strict: false, logger: false }).compile(asked)
        const example = exampleOf(narrow.schema)
        expect(follows(example), JSON.stringify(example)).to.equal(true)
      }),
      { numRuns: 300 },
    )
  })

  it('lists the keywords that Anthropic does not enforce', () => {
    const schema = {
      type: 'array',
      minItems: 2,
      uniqueItems: true,
      items: { anyOf: [{ type: 'string' }], oneOf: [{ type: 'string' }], description: 'One.' },
    }
    expect(narrowSchema(schema)).to.deep.equal({
      schema: {
        type: 'array',
        items: {
          anyOf: [{ type: 'string' }],
          description: 'One.\n\n{oneOf: [{"type":"string"}]}',
        },
        description: '{minItems: 2, uniqueItems: true}',
      },
      moved: ['minItems', 'uniqueItems', 'oneOf'],
    })
  })

  const chain = { type: 'object', properties: { next: { $ref: '#/$defs/chain' } } }
  const loose: Record<string, object> = {
    'any value': {},
    'any object': { type: 'object' },
    'a map': { type: 'object', additionalProperties: { type: 'string' } },
    'a map with no properties': {
      type: 'object',
      properties: {},
      additionalProperties: { type: 'string' },
    },
    'a map with properties': { ...point, additionalProperties: { type: 'string' } },
    'a map of patterns': { ...point, patternProperties: { '^a': { type: 'string' } } },
    'a map by another keyword': { ...point, unevaluatedProperties: { type: 'string' } },
    'a map without types': { type: 'object', properties: {}, additionalProperties: true },
    'a map of anything': { type: 'object', properties: {}, additionalProperties: {} },
    'two objects at once': { allOf: [point, { ...point, required: [] }] },
    'any value within': { type: 'object', properties: { a: true } },
    'a list of any values': { type: 'array', items: {} },
    'a recursive schema': { $ref: '#/$defs/chain', $defs: { chain } },
    'a reference to the whole schema': { type: 'array', items: { $ref: '#' } },
    'a reference to another document': { $ref: 'https://example.com/schema' },
    'an unresolved reference': { $ref: '#/$defs/toString', $defs: {} },
    'an invalid schema': { type: 'text' },
  }
  for (const [name, schema] of Object.entries(loose)) {
    it(`cannot be ${name}`, () => expect(narrowSchema(schema)).to.equal(undefined))
  }
})
