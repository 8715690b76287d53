import { expect } from 'chai'
import { tools as listed } from '../../generated/tools.ts'
import { tools as written, type Schema } from '../support/contract.ts'

/** A nested schema and its path. */
type Place = { path: string; schema: Schema & Record<string, unknown> }

const everywhere = ['type', 'description', 'enum', 'properties', 'required', 'items', 'anyOf']

/**
 * Keywords that model vendors accept in the schema of a tool, as documented in November 2026; another keyword
 * makes a vendor refuse the whole request.
 */
const vendors: Record<
  string,
  { keywords: string[]; refuses: (place: Place) => string | undefined }
> = {
  'OpenAI in strict mode': {
    // https://platform.openai.com/docs/guides/structured-outputs, Supported schemas
    keywords: [
      ...everywhere,
      'additionalProperties',
      'pattern',
      'format',
      'minimum',
      'maximum',
      'minItems',
    ],
    refuses: ({ path, schema }) =>
      path === '' && schema.type !== 'object' ? 'the root is no object' : undefined,
  },
  'Anthropic in strict mode': {
    // https://docs.claude.com/en/docs/build-with-claude/structured-outputs, limitations
    keywords: [...everywhere, 'additionalProperties', 'default', 'format'],
    refuses: ({ path, schema }) =>
      path === '' && 'anyOf' in schema ? 'the root has alternatives' : undefined,
  },
  'Gemini as parameters of a function': {
    // https://ai.google.dev/api/caching#Schema
    keywords: [...everywhere, 'format', 'nullable', 'minItems', 'maxItems', 'minimum', 'maximum'],
    refuses: ({ schema }) => {
      if (schema.anyOf !== undefined && Object.keys(schema).length > 1) return 'beside anyOf'
      if (Array.isArray(schema.type)) return 'several types'
      if (schema.enum?.some((one) => typeof one !== 'string')) return 'an enum of no strings'
      const missing = (schema.required ?? []).filter((one) => !(one in schema.properties!))
      return missing.length > 0 ? 'requires what is not there' : undefined
    },
  },
}

describe('the schemas in tools/list', () => {
  for (const [vendor, { keywords, refuses }] of Object.entries(vendors)) {
    it(`are accepted by ${vendor}`, () => {
      const wrong = listed.flatMap(({ name, inputSchema }) =>
        placesIn(inputSchema as unknown as Place['schema']).flatMap((place) => [
          ...Object.keys(place.schema)
            .filter((keyword) => !keywords.includes(keyword))
            .map((keyword) => `${name}${place.path}: ${keyword}`),
          ...[refuses(place) ?? []].flat().map((why) => `${name}${place.path}: ${why}`),
        ]),
      )
      expect(wrong).to.deep.equal([])
    })
  }

  it('describe the images to edit by one object, because LangChain keeps only one alternative', () => {
    const { properties } = listed.find(({ name }) => name === 'generate-image')!
      .inputSchema as Schema
    const [address, part, ...others] = properties!['images']!.items!.anyOf!
    expect([address!.type, others]).to.deep.equal(['string', []])
    expect(part!.properties!['type']!.enum).to.deep.equal(['image_url', 'image'])
    expect(Object.keys(part!.properties!)).to.have.members([
      'type',
      'image_url',
      'data',
      'mimeType',
    ])
    expect(part!.required).to.deep.equal(['type'])
  })

  it('have no more optional members and alternatives than Anthropic accepts', () => {
    const all = listed.flatMap(({ inputSchema }) =>
      placesIn(inputSchema as unknown as Place['schema']),
    )
    const optional = all.reduce(
      (sum, { schema: { properties = {}, required = [] } }) =>
        sum + Object.keys(properties).length - required.length,
      0,
    )
    expect(optional).to.be.at.most(24)
    expect(all.filter(({ schema }) => schema.anyOf !== undefined)).to.have.length.at.most(16)
  })

  it('describe each bound and default in words', () => {
    const silent = written.flatMap(({ name, inputSchema }) => {
      const words = new Map(
        placesIn(
          listed.find((one) => one.name === name)!.inputSchema as unknown as Place['schema'],
        ).map(({ path, schema }) => [path, String(schema['description'])]),
      )
      return placesIn(inputSchema).flatMap(({ path, schema }) =>
        (['minimum', 'maximum', 'maxLength', 'minItems', 'maxItems', 'default'] as const)
          .filter((keyword) => schema[keyword] !== undefined)
          .filter((keyword) => !words.get(path)!.includes(String(schema[keyword])))
          .map((keyword) => `${name}${path}: ${keyword}`),
      )
    })
    expect(silent).to.deep.equal([])
  })

  it('describe integers as whole numbers', () => {
    const { properties } = listed.find(({ name }) => name === 'generate-image')!
      .inputSchema as Schema
    expect(properties!['n']).to.include({
      type: 'number',
      description:
        'Number of images to create. Each is charged. A whole number from 1 to 4. Default: 1.',
    })
  })

  it('contain only ASCII, because other characters make the list slow to send', () => {
    expect(JSON.stringify(listed)).to.match(/^[\x20-\x7e]+$/)
  })

  it('have the enums of the contract', () => {
    const { properties } = listed.find(({ name }) => name === 'generate-image')!
      .inputSchema as Schema
    expect(properties!['output_format']!.enum).to.deep.equal(['png', 'jpeg', 'webp', 'svg'])
    expect(properties!['quality']!.enum).to.include.members(['auto', 'low', 'hd'])
  })
})

/** The alternatives of a schema, including alternatives of alternatives. */
function choicesOf({ anyOf, oneOf }: Pick<Schema, 'anyOf' | 'oneOf'>): Schema[] {
  return (anyOf ?? oneOf ?? []).flatMap((one) => one.anyOf ?? one.oneOf ?? [one])
}

function placesIn(schema: Place['schema'], path = ''): Place[] {
  const { properties = {}, items, anyOf, oneOf } = schema
  const inner = [
    ...Object.entries(properties).map(([name, one]) => [`${path}.${name}`, one] as const),
    ...(items === undefined ? [] : [[`${path}[]`, items] as const]),
    ...choicesOf({ anyOf, oneOf }).map((one, at) => [`${path}|${at}`, one] as const),
  ]
  return [{ path, schema }, ...inner.flatMap(([at, one]) => placesIn(one as Place['schema'], at))]
}
