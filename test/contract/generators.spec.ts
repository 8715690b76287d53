import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import {
  contract,
  operations,
  ownOperations,
  propertiesIn,
  resolve,
  type MediaType,
  type Parameter,
  type ResponseObject,
  type Schema,
} from '../support/contract.ts'

const schemas = Object.entries(contract.components.schemas)
const bodies = ownOperations.flatMap(({ operationId, requestBody, responses }) => [
  { where: operationId, content: requestBody?.content },
  ...Object.entries(responses).map(([status, response]) => ({
    where: `${operationId} ${status}`,
    content: resolve<ResponseObject>(response).content,
  })),
])

/** Each rule prevents a generator's wrong code (docs/clients.md#what-the-contract-does-for-them). */
describe('the form of the contract', () => {
  it('has no two components of one name, and none with the name of a global', () => {
    const names = Object.values(contract.components).flatMap(Object.keys)
    expect(names.filter((name, index) => names.indexOf(name) !== index)).to.deep.equal([])
    expect(names.filter((name) => name in globalThis)).to.deep.equal([])
  })

  it('has no default beside the property of a body', () => {
    const wrong = schemas.flatMap(([name, schema]) =>
      propertiesIn(schema).flatMap(([property, { default: standard }]) =>
        standard === undefined ? [] : `${name}.${property}`,
      ),
    )
    expect(wrong).to.deep.equal([])
  })

  it('has tags as enums of one value, named where the property has the name of a type', () => {
    expect(
      schemas.filter(([, schema]) => JSON.stringify(schema).includes('"const":')),
    ).to.deep.equal([])
    const types = new Set(['object', 'string', 'number', 'boolean', 'symbol', 'any', 'unknown'])
    const wrong = schemas.flatMap(([name, schema]) =>
      propertiesIn(schema)
        .filter(([property, { enum: values }]) => types.has(property) && values !== undefined)
        .map(([property]) => `${name}.${property}`),
    )
    expect(wrong).to.deep.equal([])
  })

  it('has no null among the values of an enum', () => {
    const wrong = schemas.flatMap(([name, schema]) =>
      propertiesIn({ properties: { [name]: schema } })
        .filter(([, { enum: values }]) => values?.includes(null))
        .map(([property]) => `${name}: ${property}`),
    )
    expect(wrong).to.deep.equal([])
  })

  it('says of each integer how wide it is, and of each time that it is one', () => {
    const places = placesIn(contract, '').filter(({ name }) => name !== 'properties')
    const integers = places.filter(({ types }) => types.includes('integer'))
    expect(integers).to.have.length.above(200)
    const wide =
      /(?:^|_)(?:nano_usd|bytes|tokens|pixels|ms|units|calls|rows|created|attempts|failures)(?:_|$)|_at$|Ms$/
    const wrong = integers.filter(({ name, schema: { format, maximum = Infinity } }) =>
      wide.test(name)
        ? format !== 'int64'
        : format !== 'int64' && (format !== 'int32' || (maximum > int32Max && maximum < Infinity)),
    )
    // A request may send any integer up to the maximum of its member.
    const unbounded = integers.filter(
      ({ path, schema: { format, maximum = Infinity } }) =>
        /Request\b/.test(path) && format === 'int32' && maximum > int32Max,
    )
    const times = places.filter(
      ({ name, types, schema }) =>
        types.includes('string') && /(?:_at|_until|Time)$/.test(name) && !isTime(schema),
    )
    const paths = [...wrong, ...unbounded, ...times].map(({ path }) => path)
    // A range begins and ends with a day or a time.
    expect(paths).to.deep.equal(['/components/schemas/RangeTime'])
  })

  it('has headers of type string', () => {
    const headers = operations
      .flatMap(({ parameters = [] }) => parameters.map((one) => resolve<Parameter>(one)))
      .filter((parameter) => parameter.in === 'header')
    const wrong = headers.filter(({ schema }) => resolve(schema).type !== 'string')
    expect(wrong.map(({ name }) => name)).to.deep.equal([])
  })

  it('names JSON first, and a body of two media types by a component', () => {
    for (const { where, content = {} } of bodies) {
      const [first = 'application/json'] = Object.keys(content)
      // Neither a picture nor the events of a job have a form in JSON.
      if (!first.startsWith('image/') && where !== 'streamImageJob 200')
        expect(first, where).to.equal('application/json')
    }
    const written = Object.values(contract.paths).flatMap((item) => Object.values(item))
    const wrong = written.filter(
      ({ requestBody = { content: {} } }) =>
        'content' in requestBody && Object.keys(requestBody.content).length > 1,
    )
    expect(wrong.map(({ operationId }) => operationId)).to.deep.equal([])
  })

  it('has event streams of type string, with the schema of their events', () => {
    const streams = bodies
      .map(({ content }): MediaType | undefined => content?.['text/event-stream'])
      .filter((media) => media !== undefined)
    expect(streams).to.have.length(8)
    for (const { schema } of streams) {
      expect(schema).to.include({ type: 'string', contentMediaType: 'text/event-stream' })
      expect(schema.contentSchema).to.have.property('$ref')
    }
  })

  it('describes each operation, parameter, header, schema and member', () => {
    expect(undescribed(contract)).to.deep.equal([])
  })

  it('finds each place that has no description', () => {
    const copy = structuredClone(contract)
    const places = [
      ['paths', '/v1/models', 'get'],
      ['components', 'parameters', 'PageLimit'],
      ['components', 'headers', 'Cost'],
      ['components', 'responses', 'OAuthBusy', 'headers', 'Retry-After'],
      ['components', 'schemas', 'TextPart'],
      ['components', 'schemas', 'TextPart', 'properties', 'text'],
      ['components', 'schemas', 'WebSearch', 'properties', 'sources', 'items', 'properties', 'url'],
    ]
    for (const place of places) {
      const owner = place.reduce<unknown>((inner, name) => Object(inner)[name], copy)
      Reflect.deleteProperty(Object(owner), 'description')
    }
    expect(undescribed(copy)).to.deep.equal(places.map((place) => place.join('/')))
  })

  it('lists no error code that is never thrown', () => {
    const root = join(import.meta.dirname, '../../src')
    const source = globSync('**/*.ts', { cwd: root })
      .filter((name) => name !== 'core/error.ts')
      .map((name) => readFileSync(join(root, name), 'utf8'))
      .join('\n')
    const codes = contract.components.schemas['ErrorCode']!.enum as string[]
    expect(codes.filter((code) => !source.includes(`'${code}'`))).to.deep.equal([])
  })
})

/**
 * Where the document lacks a description. A reference has that of its target, which the rule asks for too. A tag, an
 * enum of one value, needs none: the schema that has it says what it is.
 */
function undescribed(value: unknown, place: readonly string[] = []): string[] {
  if (typeof value !== 'object' || value === null) return []
  const [holder = ''] = place.slice(-2)
  const isMember = holder === 'properties' && !place.includes('not')
  const isNamed = holder === 'headers' || (holder === 'schemas' && place.length === 3)
  const needsOne = isMember || isNamed || 'in' in value || 'operationId' in value
  const isTag = 'enum' in value && [value.enum].flat().length === 1
  const isLacking = needsOne && !isTag && !('description' in value) && !('$ref' in value)
  const inner = Object.entries(value).flatMap(([name, one]) =>
    ['example', 'examples', 'links', 'security'].includes(name) && place.at(-1) !== 'properties'
      ? []
      : undescribed(one, [...place, name]),
  )
  return isLacking ? [place.join('/'), ...inner] : inner
}

const int32Max = 2 ** 31 - 1

function isTime({ format = '' }: Schema): boolean {
  return ['date-time', 'date'].includes(format)
}

type Place = { path: string; name: string; types: string[]; schema: Schema }

/** The schemas with a type in a part of the document; an item has the name of its list. */
function placesIn(part: unknown, path: string, name = ''): Place[] {
  if (typeof part !== 'object' || part === null) return []
  if (Array.isArray(part)) return part.flatMap((one, i) => placesIn(one, `${path}/${i}`, name))
  const { type } = part as Schema
  const types = [type].flat().filter((one) => typeof one === 'string')
  const inner = Object.entries(part)
    .filter(([key]) => name === 'properties' || !/^(?:examples?|value|default|enum)$/.test(key))
    .flatMap(([key, one]) =>
      placesIn(one, `${path}/${key}`, key === 'items' || key === 'schema' ? name : key),
    )
  return [...(types.length > 0 ? [{ path, name, types, schema: part as Schema }] : []), ...inner]
}
