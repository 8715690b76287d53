import { expect } from 'chai'
import { toolChecks, type Check } from '../../generated/checks.js'
import { operation, resolve, tools } from '../support/contract.ts'
import type { TestGateway } from '../support/gateway.ts'
import { memberProbes, sample } from '../support/probes.ts'
import {
  describeBounds,
  expectTextHeld,
  messages,
  read,
  startPatientGateway,
  words,
} from './bounds.ts'
import type { Subject } from './image-configs.ts'

const subjects: Subject[] = [
  {
    id: 'createEmbedding',
    base: { input: 'a fox', dimensions: 1 },
    models: ['text-embedding-3-small'],
  },
  { id: 'createModeration', base: { input: 'a fox' }, models: ['omni-moderation-latest'] },
  {
    id: 'createChatCompletion',
    base: { messages },
    models: ['gpt-5-mini', 'openrouter/any', 'claude-sonnet-4-6'],
  },
  {
    id: 'createResponse',
    base: { input: 'Hello.' },
    models: ['gpt-5-mini', 'openrouter/any', 'claude-sonnet-4-6'],
  },
  {
    id: 'createMessage',
    base: { messages, max_tokens: 100 },
    models: ['claude-sonnet-4-6', 'openrouter/any'],
  },
  { id: 'compactResponse', base: { input: 'Hello.' }, models: ['gpt-5-mini', 'openrouter/any'] },
  { id: 'countResponseTokens', base: { input: 'Hello.' }, models: ['gpt-5-mini'] },
  { id: 'countMessageTokens', base: { messages }, models: ['gpt-5-mini'] },
]

describe('the bounds of the contract', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startPatientGateway()
  })
  after(() => gateway.stop())

  for (const subject of subjects) describeBounds(subject, () => gateway)

  describe('of listModels', () => {
    const { path, parameters = [] } = operation('listModels')
    for (const parameter of parameters.map((one) => resolve(one))) {
      const { name } = parameter
      const query = (value: string) => `${name}=${encodeURIComponent(value)}`
      it(`hold for ${name}`, () =>
        expectTextHeld(parameter, (value) => gateway.fetch(`${path}?${query(value)}`)))

      if (parameter.in !== 'query') continue
      it(`refuse a repeated ${name}`, async () => {
        const one = query(String(sample(parameter.schema, words, name)))
        const { status, error } = await read(await gateway.fetch(`${path}?${one}&${one}`))
        expect({ status, ...error }).to.include({ status: 400, param: name, code: 'invalid_value' })
      })
    }

    it('refuse a misspelt parameter, and suggest the right name', async () => {
      const { status, error } = await read(await gateway.fetch(`${path}?limt=2`))
      const code = 'unknown_parameter'
      expect({ status, ...error }).to.include({ status: 400, param: 'limt', code })
      expect(error.message).to.include("'limit'")
    })
  })

  for (const { name, inputSchema } of tools) {
    it(`hold for the arguments of the tool ${name}`, () => {
      const check = toolChecks[name as keyof typeof toolChecks] as Check<unknown>
      const probes = memberProbes(inputSchema, sample(inputSchema, words) as object, words)
      const wrong = probes.filter(({ value, allowed }) => check(structuredClone(value)) !== allowed)
      expect(wrong).to.deep.equal([])
    })
  }
})
