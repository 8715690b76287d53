import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import type { Document } from '../../scripts/generate/document.ts'
import { publishedForm } from '../../scripts/generate/published.ts'
import { readEvents } from '../support/event-stream.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import {
  contract,
  examplesIn,
  operations,
  ownOperations,
  resolve,
  strictComplaints,
  type ContractDocument,
  type Header,
  type MediaType,
  type OperationRow,
  type Parameter,
  type ResponseObject,
  type Schema,
} from '../support/contract.ts'
import { errors } from './document.ts'
import { formOf } from './promised.ts'

type Shown = { where: string; schema: Schema; value: unknown }
type Place = { where: string; media: MediaType }
type ErrorCodes = { type?: string; code?: string | number }

/** Names of components, such as `schemas/Name`. */
const componentNames = Object.entries(contract.components).flatMap(([kind, components]) =>
  Object.keys(components).map((name) => `${kind}/${name}`),
)

describe('openapi.yaml', () => {
  const placesOf = (operation: OperationRow) => [
    ...mediaTypes(operation),
    ...parametersOf(operation),
    ...headersOf(operation),
  ]
  for (const operation of operations) {
    it(`gives examples of ${operation.operationId} that its schemas allow`, () => {
      for (const { where, schema, value } of placesOf(operation).flatMap(examplesOf)) {
        expect(complaintsAbout(schema, value), where).to.deep.equal([])
      }
    })
  }

  const { WebhookEventType: eventType, WebhookTestType: testType } = contract.components.schemas
  it('describes the request of each event of webhooks', () => {
    const types = [...eventType!.enum!, ...testType!.enum!]
    expect(Object.keys(contract.webhooks)).to.deep.equal(types)
  })
  for (const [type, { post }] of Object.entries(contract.webhooks))
    it(`gives examples of the event ${type} that its schemas allow`, () => {
      const places = placesOf({ ...post, path: type, method: 'post' })
      for (const { where, schema, value } of places.flatMap(examplesOf))
        expect(complaintsAbout(schema, value), where).to.deep.equal([])
      expect(JSON.stringify(places)).to.include(`"type":"${type}"`)
    })

  it('gives an example of each parameter, body, answer and header', () => {
    const bare = operations.flatMap(placesOf).filter((place) => examplesOf(place).length === 0)
    expect(bare.map(({ where }) => where)).to.deep.equal([])
  })

  it('gives an example of each error code of a status', () => {
    for (const { operationId, responses } of ownOperations) {
      for (const [status, response] of Object.entries(responses)) {
        if (Number(status) < 400) continue
        const [example] = examplesIn(
          resolve<ResponseObject>(response).content!['application/json']!,
        )
        // The cast is safe: the test above checks that each error has an example.
        const { error } = example as { error: ErrorCodes & { data?: ErrorCodes } }
        const { type, code } = typeof error.code === 'number' ? (error.data ?? {}) : error
        if (code === undefined) continue
        const where = `${operationId} ${status}`
        if (!operationId.endsWith('Mcp'))
          expect(errors[Number(status)]!.codes, where).to.include(code)
        expect(
          Object.values(errors).map((row) => row.type),
          where,
        ).to.include(type)
      }
    }
  })

  it('has an id, a tag and a summary for each operation', () => {
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

  it('has schemas that comply with JSON Schema', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    for (const [name, schema] of Object.entries(contract.components.schemas)) {
      expect(ajv.validateSchema(schema), name).to.equal(true)
    }
  })
})

describe('GET /openapi.json', () => {
  let gateway: TestGateway
  let served: ContractDocument
  before(async () => {
    gateway = await startGateway({ file: { limits: { route_tries_max: 1 } } })
    const response = await gateway.fetch('/openapi.json', { key: null })
    served = (await response.json()) as ContractDocument
  })
  after(() => gateway.stop())

  it('serves the content of openapi.yaml, with open enumerations in answers and named examples', () => {
    expect(served).to.deep.equal(publishedForm(contract as unknown as Document))
  })

  it('serves a document whose references all resolve', () => {
    for (const reference of referencesIn(served)) {
      const [kind, name] = reference.split('/').slice(2)
      expect(served.components[kind!], reference).to.have.property(name!)
    }
  })

  it('serves examples that work unchanged, and are answered as their answers show', async () => {
    for (const { method, path, operationId, requestBody, responses } of operations) {
      const shown = requestBody?.content['application/json']?.examples ?? {}
      const answers = Object.entries(responses).map(([status, response]) => ({
        status: Number(status),
        examples: resolve<ResponseObject>(response).content?.['application/json']?.examples ?? {},
      }))
      for (const [name, { value }] of Object.entries(shown)) {
        const promised = answers.filter(({ examples }) => name in examples)
        expect(promised, `${operationId} ${name}`).to.have.length(1)
        const [{ status, examples } = { status: 0, examples: {} }] = promised
        const keys = path.startsWith('/api/') ? { key: gateway.adminKey } : {}
        const response = await gateway.post(path, value, { method, ...keys })
        const text = await response.text()
        expect(response.status, text).to.equal(status)
        const answer = examples[name]!.value
        if (status < 400) expectAlike(JSON.parse(text), answer, `${operationId} ${name}`)
        else expect(formOf(text), `${operationId} ${name}`).to.equal(formOf(JSON.stringify(answer)))
      }
    }
  })

  it('shows streams with the events that a stream has, to the last', async () => {
    for (const { method, path, operationId, requestBody, responses } of operations) {
      const [shown] = Object.values(requestBody?.content['application/json']?.examples ?? {})
      const stream = resolve<ResponseObject>(responses['200'] ?? { description: '' }).content?.[
        'text/event-stream'
      ]
      if (shown === undefined || stream === undefined || path === '/mcp') continue
      const body = { ...Object(shown.value), stream: true }
      const answer = await gateway.post(path, body, { method })
      const sent = eventKinds(await answer.text())
      const example = eventKinds(String(stream.example))
      expect(example, operationId).to.include.members(sent)
      expect(example.at(-1), operationId).to.equal(sent.at(-1))
    }
  })

  it('names an answer like its request, in each operation that names its requests', () => {
    for (const { operationId, requestBody, responses } of operations) {
      const asked = Object.values(requestBody?.content ?? {}).flatMap(namesOf)
      const answers = Object.values(responses).flatMap((response) =>
        Object.values(resolve<ResponseObject>(response).content ?? {}),
      )
      const answered = new Set(answers.flatMap(namesOf))
      if (asked.length > 0) expect([...answered], operationId).to.include.members(asked)
    }
  })
})

const namesOf = ({ examples = {} }: MediaType) => Object.keys(examples)

/** Names of the events of a stream, or their data where it ends the stream, each once. */
function eventKinds(text: string): string[] {
  const kinds = readEvents(text).map(({ name, data }) => (data === '[DONE]' ? data : String(name)))
  return [...new Set(kinds)]
}

/** Members that differ from call to call, or from a live key to a test key. */
const varying =
  /^(id|.*_at|.*_id|created_by|key|api_key|secret|hint|prefix|path|link|token|created|b64_json|data|text|content|tools|message|mode|model|usage|reason|url|provider|encrypted_content)$/

/** Expects that an answer has the members of its example, and the same values where they do not vary. */
function expectAlike(answer: unknown, shown: unknown, where: string): void {
  // The schema says which members may be null.
  if (answer === null || shown === null) return
  expect(typeof answer, where).to.equal(typeof shown)
  if (Array.isArray(shown)) {
    expect(answer, where).to.be.an('array')
    const items = answer as unknown[]
    if (!/tools|content|embedding$/.test(where)) expect(items, where).to.have.length(shown.length)
    for (const [index, item] of shown.entries())
      if (index < items.length) expectAlike(items[index], item, `${where}[${index}]`)
  } else if (typeof shown === 'object') {
    expect(Object.keys(Object(answer)), where).to.include.members(Object.keys(shown))
    for (const [name, value] of Object.entries(shown))
      if (typeof value === 'object' || !varying.test(name))
        expectAlike(Object(answer)[name], value, `${where}.${name}`)
  } else if (typeof shown === 'string') expect(answer, where).to.equal(shown)
}

function mediaTypes({ operationId, requestBody, responses }: OperationRow): Place[] {
  const answers = Object.entries(responses).map(([status, response]) => ({
    where: `${operationId} ${status}`,
    content: resolve<ResponseObject>(response).content ?? {},
  }))
  const asked = { where: operationId, content: requestBody?.content ?? {} }
  return [asked, ...answers].flatMap(({ where, content }) =>
    Object.entries(content).map(([type, media]) => ({ where: `${where} ${type}`, media })),
  )
}

function parametersOf({ operationId, parameters = [] }: OperationRow): Place[] {
  return parameters.map((parameter) => {
    const found = resolve<Parameter>(parameter)
    return { where: `${operationId} ${found.name}`, media: found }
  })
}

function headersOf({ operationId, responses }: OperationRow): Place[] {
  return Object.entries(responses).flatMap(([status, response]) =>
    Object.entries(resolve<ResponseObject>(response).headers ?? {}).map(([name, header]) => ({
      where: `${operationId} ${status} ${name}`,
      media: resolve<Header>(header),
    })),
  )
}

function examplesOf({ where, media }: Place): Shown[] {
  const { schema, example, examples = {} } = media
  const named = Object.entries(examples).map(([name, { value }]) => ({
    where: `${where}, ${name}`,
    schema,
    value,
  }))
  return example === undefined ? named : [...named, { where, schema, value: example }]
}

/** Violations of the schema by a value, or by the data of each event of a stream. */
function complaintsAbout(schema: Schema, value: unknown): string[] {
  const { contentSchema } = schema
  if (contentSchema === undefined) return strictComplaints(schema, value)
  const events = readEvents(String(value)).filter(({ data }) => data !== '[DONE]')
  if (events.length === 0) return ['The stream has no event.']
  return events.flatMap(({ data }) => strictComplaints(contentSchema, JSON.parse(data!)))
}

/** All components that the paths refer to, directly or not, such as `schemas/Name`. */
function componentsUsedBy({
  paths,
  webhooks,
  security,
  components,
}: ContractDocument): Set<string> {
  const own = operations.flatMap((operation) => operation.security ?? [])
  const schemes = [...security, ...own].flatMap(Object.keys)
  const used = new Set(schemes.map((name) => `securitySchemes/${name}`))
  const visit = (part: unknown) => {
    for (const reference of referencesIn(part)) {
      const [kind = '', name = ''] = reference.split('/').slice(2)
      if (used.has(`${kind}/${name}`)) continue
      used.add(`${kind}/${name}`)
      visit(components[kind]?.[name])
    }
  }
  visit(paths)
  visit(webhooks)
  return used
}

function referencesIn(part: unknown): string[] {
  if (typeof part !== 'object' || part === null) return []
  return Object.entries(part).flatMap(([key, value]: [string, unknown]) =>
    key === '$ref' && typeof value === 'string' ? value : referencesIn(value),
  )
}
