import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { openAnswers } from '../../scripts/generate/open-answers.ts'
import type { Document } from '../../scripts/generate/document.ts'
import { contract } from '../support/contract.ts'

type Members = Record<string, unknown>

const published = JSON.parse(
  readFileSync(new URL('../../generated/openapi.json', import.meta.url), 'utf8'),
) as Document

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
    expect(published).to.deep.equal(openAnswers(contract as unknown as Document))
    const { ErrorBody, ChatChoice } = published.components.schemas as Record<
      string,
      { properties: Members }
    >
    expect(ErrorBody!.properties['code']).to.have.property('anyOf').that.deep.includes(text)
    expect(ChatChoice!.properties['finish_reason'])
      .to.have.property('anyOf')
      .that.deep.includes(text)
  })
})
