import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { openAnswers } from '../../scripts/generate/open-answers.ts'
import { exampleName } from '../../scripts/generate/named-examples.ts'
import { publishedForm } from '../../scripts/generate/published.ts'
import type { Document } from '../../scripts/generate/document.ts'
import { contract, propertiesIn, type ContractDocument, type Schema } from '../support/contract.ts'

type Members = Record<string, unknown>

const published = JSON.parse(
  readFileSync(new URL('../../generated/openapi.json', import.meta.url), 'utf8'),
) as ContractDocument

/** Errors of a value against a component of a document. */
const errorsOf = (document: object, component: string, value: unknown): string[] => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
  ajv.addSchema({ ...document, $id: 'contract' })
  ajv.validate({ $ref: `contract#/components/schemas/${component}` }, value)
  return (ajv.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}

/** A document of one operation, whose request is of schema A and whose answer of schema B. */
const documentOf = (schemas: Members): Document =>
  ({
    paths: {
      '/a': {
        post: {
          requestBody: {
            content: { 'application/json': { schema: { $ref: '#/components/schemas/A' } } },
          },
          responses: {
            200: {
              content: { 'application/json': { schema: { $ref: '#/components/schemas/B' } } },
            },
          },
        },
      },
    },
    components: { schemas: { A: {}, ...schemas } },
  }) as unknown as Document

const words = { type: 'string', enum: ['a', 'b'] }
const text = { type: 'string' }
const openWords = { anyOf: [words, text] }
const tag = (...values: string[]) => ({ properties: { tag: { type: 'string', enum: values } } })

describe('enumerations of answers', () => {
  const schemasOf = (schemas: Members) => openAnswers(documentOf(schemas)).components.schemas

  it('are open wherever an answer has one: in members, lists, unions with null and by reference', () => {
    const named = { $ref: '#/components/schemas/Words' }
    const { B, Words } = schemasOf({
      Words: { description: 'One of two.', ...words },
      B: {
        properties: {
          plain: { description: 'What.', ...words },
          list: { type: 'array', items: named },
          nullable: { anyOf: [named, { type: 'null' }] },
          object: { type: 'string', enum: ['one'] },
        },
        additionalProperties: words,
      },
    })
    expect(B).to.deep.equal({
      properties: {
        plain: { description: 'What.', ...openWords },
        list: { type: 'array', items: { description: 'One of two.', anyOf: [named, text] } },
        nullable: { anyOf: [named, text, { type: 'null' }] },
        object: { type: 'string', enum: ['one'] },
      },
      additionalProperties: openWords,
    })
    expect(Words).to.deep.equal({ description: 'One of two.', ...words })
  })

  it('are closed where a request has the same schema, and where they tell alternatives apart', () => {
    const both = { properties: { kind: words } }
    const union = { oneOf: [tag('a', 'b'), tag('c', 'd')] }
    const parts = { properties: { both: { $ref: '#/components/schemas/Both' }, union } }
    const schemas = { A: { properties: { both: parts.properties.both } }, B: parts, Both: both }
    expect(schemasOf(schemas)).to.deep.equal(schemas)
  })

  it('are open in alternatives of a union that differ by another member, unless clients send these back', () => {
    const status = { description: 'How far it is.', ...words }
    const form = (name: string) => ({ properties: { ...tag(name, `${name}2`).properties, status } })
    const alternatives = (...names: string[]) => ({ B: { oneOf: names.map(form) } })
    const opened = { description: 'How far it is.', ...openWords }
    const { B } = schemasOf(alternatives('a', 'c'))
    expect(B).to.deep.equal({
      oneOf: ['a', 'c'].map((name) => ({
        properties: { ...form(name).properties, status: opened },
      })),
    })
    const Both = { properties: { kind: words } }
    const both = { $ref: '#/components/schemas/Both' }
    const sent = { A: both, Both, B: { oneOf: [form('a'), both] } }
    expect(schemasOf(sent)).to.deep.equal(sent)
  })

  it('are open in a union of several, and closed for a boolean as a text', () => {
    const test = { type: 'string', enum: ['test'] }
    const flag = { type: 'string', enum: ['true', 'false'] }
    const properties = { type: { anyOf: [words, test] }, flag }
    expect(schemasOf({ B: { properties } })['B']).to.deep.equal({
      properties: { type: { anyOf: [words, test, text] }, flag },
    })
  })

  it('let a model have a modality that a later version adds, which the source of the contract refuses', () => {
    const model = { id: 'm', object: 'model', created: 0, owned_by: 'v' }
    const given = { ...model, input_modalities: ['text', 'smell'], output_modalities: ['text'] }
    const about = (document: object) =>
      errorsOf(document, 'Model', given).filter((error) => error.includes('modalities'))
    expect(about(contract)).to.deep.equal([
      '/input_modalities/1 must be equal to one of the allowed values',
    ])
    expect(about(published)).to.deep.equal([])
  })

  it('are what the source says, with any other text, in what the gateway serves', () => {
    expect(published).to.deep.equal(publishedForm(contract as unknown as Document))
    const { ErrorBody, ChatChoice } = published.components.schemas as Record<
      string,
      { properties: Members }
    >
    expect(ErrorBody!.properties['code']).to.have.property('anyOf').that.deep.includes(text)
    expect(ChatChoice!.properties['finish_reason'])
      .to.have.property('anyOf')
      .that.deep.includes(text)
  })

  it('are open in all answers of the served document, except the named ones', () => {
    expect(closedInAnswers(published)).to.deep.equal([
      // What tells the events of a stream apart.
      'ImageCompletedEvent.type',
      'ImagePartialEvent.type',
      'MessageStopEvent.type',
      // A response repeats what the request had, and clients send its items back.
      'ModelResponse.tool_choice',
      'ResponseOutputMessage.status',
      // Booleans, since a header is a text.
      'Switch of Replayed',
      'Switch of ShouldRetry',
    ])
  })

  it('are found wherever an answer has a closed one', () => {
    const copy = structuredClone(published)
    const { Model, Message } = copy.components.schemas as Record<string, Required<Schema>>
    Model!.properties['status'] = { $ref: '#/components/schemas/ModelStatus' }
    Model!.properties['input_modalities']!.items = { type: 'string', enum: ['text', 'image'] }
    Message!.properties['stop_reason']!.anyOf!.splice(1, 1)
    copy.components.schemas['AnyWebhookType']!.anyOf!.splice(2, 1)
    const found = closedInAnswers(copy).filter((place) => /^(?:Model|Message|Web\w+)\./.test(place))
    expect(found).to.deep.equal([
      'Message.stop_reason',
      'Model.input_modalities',
      'Model.status',
      'WebhookDelivery.type',
      'WebhookEvent.type',
    ])
  })

  it('have the values of each reason, state, status, kind and outcome of an answer', () => {
    expect(unlistedInAnswers(published)).to.deep.equal([
      // The client's own text, and a sentence.
      'OAuthError.state',
      'Warning.reason',
    ])
    const copy = structuredClone(published)
    copy.components.schemas['ChatChoice']!.properties!['finish_reason'] = {
      type: ['string', 'null'],
    }
    expect(unlistedInAnswers(copy)).to.include('ChatChoice.finish_reason')
  })
})

/** The components that a part of a document refers to, directly or not. */
function componentsOf({ components }: ContractDocument, part: unknown): Map<string, object> {
  const found = new Map<string, object>()
  const visit = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/([^"]+)"/g)) {
      const [kind = '', last = ''] = name.split('/')
      if (found.has(name)) continue
      const component = components[kind]![last as never] as object
      found.set(name, component)
      visit(component)
    }
  }
  visit(part)
  return found
}

/** The members that answers alone have, by the component that contains them: all schemas of a member and its lists. */
function answered(document: ContractDocument): { place: string; schemas: Schema[] }[] {
  const items = Object.values(document.paths).flatMap((item) => Object.values(item))
  const requests = componentsOf(
    document,
    items.map(({ parameters = [], requestBody = {} }) => [parameters, requestBody]),
  )
  const answers = componentsOf(document, [items.map((item) => item.responses), document.webhooks])
  const own = [...answers].filter(([name]) => !requests.has(name))
  return own.flatMap(([name, component]) => {
    const [kind, last] = name.split('/')
    const { schema } = component as { schema?: Schema }
    if (kind === 'headers')
      return [
        { place: `${nameOf(schema)} of ${last}`, schemas: [targetIn(document, schema ?? {})] },
      ]
    return propertiesIn(component as Schema).map(([member, inner]) => {
      const item = targetIn(document, inner.items ?? inner)
      const forms = item.anyOf ?? item.oneOf ?? [item]
      return { place: `${last}.${member}`, schemas: forms.map((one) => targetIn(document, one)) }
    })
  })
}

const nameOf = (schema: Schema = {}) => schema.$ref?.split('/').at(-1) ?? ''
const targetIn = ({ components }: ContractDocument, schema: Schema): Schema =>
  schema.$ref === undefined ? schema : components.schemas[nameOf(schema)]!
const isText = ({ type }: Schema) => [type].flat().includes('string')

function closedInAnswers(document: ContractDocument): string[] {
  const found = answered(document).filter(({ schemas: all }) => {
    const isOpen = all.some((one) => isText(one) && !one.enum && !one.anyOf)
    return !isOpen && all.some((one) => isText(one) && (one.enum ?? []).length > 1)
  })
  return [...new Set(found.map(({ place }) => place))].sort()
}

function unlistedInAnswers(document: ContractDocument): string[] {
  const found = answered(document).filter(({ place, schemas: all }) => {
    const isNamed = /(?:\.|_)(?:reason|state|status|kind|outcome)$/.test(place)
    return isNamed && all.some(isText) && !all.some((one) => one.enum)
  })
  return [...new Set(found.map(({ place }) => place))].sort()
}

describe('an example without a name', () => {
  it('has one in what the gateway serves, the same in the path, the body and the answer', () => {
    const { retrieveImageJob, createWebhook, listKeys } = Object.fromEntries(
      Object.values(published.paths).flatMap((item) =>
        Object.values(item).map((one) => [one.operationId, JSON.stringify(one)] as const),
      ),
    )
    const named = `"examples":{"${exampleName}":{"value":`
    expect(JSON.stringify(published.components['parameters']!['ImageJobPath'])).to.include(named)
    expect(retrieveImageJob).to.include(named)
    expect(createWebhook!.split(named)).to.have.length(3)
    expect(listKeys).to.not.include(named)
  })
})
