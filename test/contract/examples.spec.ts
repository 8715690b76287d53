import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import {
  complaints,
  contract,
  operations,
  resolve,
  type ContractDocument,
  type MediaType,
  type Parameter,
  type ResponseObject,
  type Schema,
} from '../support/contract.ts'

type Shown = { where: string; schema: Schema; value: unknown }

/** As `schemas/Name`. */
const componentNames = Object.entries(contract.components).flatMap(([kind, components]) =>
  Object.keys(components).map((name) => `${kind}/${name}`),
)

describe('openapi.yaml', () => {
  const examples = examplesOf(operations.flatMap(mediaTypes), operations.flatMap(parametersOf))
  for (const { where, schema, value } of examples) {
    it(`gives an example that its schema allows: ${where}`, () => {
      expect(complaints(schema, value)).to.deep.equal([])
    })
  }

  it('gives an example of each JSON body', () => {
    const bare = operations
      .filter(({ requestBody }) => requestBody?.content['application/json'] !== undefined)
      .filter(({ requestBody }) => !('examples' in requestBody!.content['application/json']!))
    expect(bare.map(({ operationId }) => operationId)).to.deep.equal([])
  })

  it('names, tags and sums up every operation', () => {
    const tags = contract.tags.map(({ name }) => name)
    for (const { operationId, summary, tags: own = [], path } of operations) {
      expect(operationId, path).to.match(/^[a-z][A-Za-z0-9]+$/)
      expect(summary, operationId).to.be.a('string').that.is.not.empty
      expect(tags, operationId).to.include.members(own)
      expect(own, operationId).to.have.length(1)
    }
    const ids = operations.map(({ operationId }) => operationId)
    expect(new Set(ids).size).to.equal(ids.length)
  })

  it('uses every component', () => {
    const used = componentsUsedBy(contract)
    expect(componentNames.filter((name) => !used.has(name))).to.deep.equal([])
  })

  it('has no two components of one name, and none with the name of a global', () => {
    const names = componentNames.map((name) => name.split('/')[1]!)
    const twice = names.filter((name, index) => names.indexOf(name) !== index)
    expect(twice).to.deep.equal([])
    expect(names.filter((name) => name in globalThis)).to.deep.equal([])
  })

  it('has schemas that JSON Schema itself allows', () => {
    const ajv = new Ajv2020({ strict: false, formats: { binary: true } })
    for (const [name, schema] of Object.entries(contract.components.schemas)) {
      expect(ajv.validateSchema(schema), name).to.equal(true)
    }
  })
})

describe('GET /openapi.json', () => {
  let gateway: TestGateway
  let served: ContractDocument
  before(async () => {
    gateway = await startGateway()
    const response = await gateway.fetch('/openapi.json', { key: null })
    served = (await response.json()) as ContractDocument
  })
  after(() => gateway.stop())

  it('serves what openapi.yaml says', () => {
    expect(served).to.deep.equal(contract)
  })

  it('serves a document whose every reference leads somewhere', () => {
    for (const reference of referencesIn(served)) {
      const [kind, name] = reference.split('/').slice(2)
      expect(served.components[kind!], reference).to.have.property(name!)
    }
  })

  it('serves examples that work as they are', async () => {
    // The document's example address is nobody's picture, and this test leaves the network alone.
    for (const { method, path, operationId, requestBody } of operations) {
      const shown = Object.values(requestBody?.content['application/json']?.examples ?? {})
      for (const { value } of operationId === 'createImageEdit' ? [] : shown) {
        const response = await gateway.post(path, value, { method })
        const text = await response.text()
        expect(response.status, text).to.equal(200)
      }
    }
  })
})

function mediaTypes({ operationId, requestBody, responses }: (typeof operations)[number]) {
  const answers = Object.entries(responses).map(([status, response]) => ({
    where: `${operationId} ${status}`,
    content: resolve<ResponseObject>(response).content ?? {},
  }))
  const asked = { where: operationId, content: requestBody?.content ?? {} }
  return [asked, ...answers].flatMap(({ where, content }) =>
    Object.entries(content).map(([type, media]) => ({ where: `${where} ${type}`, media })),
  )
}

function parametersOf({ operationId, parameters = [] }: (typeof operations)[number]) {
  return parameters.map((parameter) => {
    const found = resolve<Parameter>(parameter)
    return { where: `${operationId} ${found.name}`, media: found }
  })
}

function examplesOf(...groups: { where: string; media: MediaType }[][]): Shown[] {
  return groups.flat().flatMap(({ where, media }) => {
    const { schema, example, examples = {} } = media
    const named = Object.entries(examples).map(([name, { value }]) => ({
      where: `${where}, ${name}`,
      schema,
      value,
    }))
    return example === undefined ? named : [...named, { where, schema, value: example }]
  })
}

/** Every component that the paths lead to, as `schemas/Name`. */
function componentsUsedBy({ paths, security, components }: ContractDocument): Set<string> {
  const used = new Set(security.flatMap(Object.keys).map((name) => `securitySchemes/${name}`))
  const visit = (part: unknown) => {
    for (const reference of referencesIn(part)) {
      const [kind = '', name = ''] = reference.split('/').slice(2)
      if (used.has(`${kind}/${name}`)) continue
      used.add(`${kind}/${name}`)
      visit(components[kind]?.[name])
    }
  }
  visit(paths)
  return used
}

function referencesIn(part: unknown): string[] {
  if (typeof part !== 'object' || part === null) return []
  return Object.entries(part).flatMap(([key, value]: [string, unknown]) =>
    key === '$ref' && typeof value === 'string' ? value : referencesIn(value),
  )
}
