import { expect } from 'chai'
import retired from '../../src/catalog/retired.json' with { type: 'json' }
import { readCatalogRows, statusAt } from '../../src/catalog/catalog.ts'
import { anthropicClient } from '../support/anthropic-client.ts'
import { completion } from '../support/chat-answers.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { callTool, connectClient, textOf } from '../support/mcp-client.ts'
import { openAiClient } from '../support/openai-client.ts'
import { hello } from '../support/own-endpoint.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

const next = "Its successor is 'gpt-image-2.6-flare'."

describe('the name of a model that its vendor has switched off', () => {
  let upstream: Upstream
  let gateway: TestGateway
  before(async () => {
    upstream = await startUpstream()
    gateway = await startGateway({
      variables: { OPENAI_API_KEY: 'sk-x', OPENAI_BASE_URL: upstream.url },
    })
  })
  after(async () => {
    await gateway.stop()
    await upstream.stop()
  })
  beforeEach(() => {
    upstream.answer(({ method }) =>
      method === 'GET' ? { body: { object: 'list', data: [{ id: 'gpt-4' }] } } : completion('Hi.'),
    )
  })
  const model = 'dall-e-3'
  const calls: [path: string, body: object][] = [
    ['/v1/images/generations', { prompt: 'A fox' }],
    ['/v1/chat/completions', { messages: hello }],
    ['/v1/chat/completions', { messages: hello, stream: true }],
    ['/v1/responses', { input: 'Hi' }],
    ['/v1/embeddings', { input: 'Hi' }],
    ['/v1/prices', { operation: 'createImage', request: { model, prompt: 'A fox' } }],
  ]
  for (const [path, body] of calls) {
    it(`is refused by ${path} with its successor${'stream' in body ? ', also in a stream' : ''}`, async () => {
      for (const key of [gateway.testKey, gateway.liveKey]) {
        const { message } = await expectError(
          await gateway.post(path, 'operation' in body ? body : { model, ...body }, { key }),
          {
            status: 410,
            code: 'model_deactivated',
          },
        )
        expect(message).to.equal(`The model 'dall-e-3' was deactivated. ${next}`)
      }
    })
  }

  for (const [name, successor] of [
    ['dall-e-2', 'gpt-image-2.6-flare'],
    [' OpenAI/DALL-E-3', 'gpt-image-2.6-flare'],
    ['gpt-image-1', 'gpt-image-2.6-flare'],
    ['imagen-4.0-generate-001', 'gemini-nano-banana-2.1'],
    ['anthropic/claude-3.5-sonnet', 'claude-sonnet-4-6'],
    ['claude-3-5-sonnet-20241022', 'claude-sonnet-4-6'],
    ['gpt-3.5-turbo-0125', 'gpt-5.6-terra'],
    ['models/gemini-2.0-flash-001', 'gemini-3.1-flash-lite'],
  ] as const) {
    it(`is known in other spellings and with its date: '${name}'`, async () => {
      const response = await gateway.post('/v1/chat/completions', { model: name, messages: hello })
      const { message } = await expectError(response, { status: 410, code: 'model_deactivated' })
      expect(message).to.contain(`Its successor is '${successor}'.`)
    })
  }

  it('is refused by the clients of OpenAI and Anthropic, and by the tools', async () => {
    const openAi = openAiClient(gateway)
    const picture = await openAi.images.generate({ model, prompt: 'A fox' }).catch((error) => error)
    expect(picture).to.include({ status: 410, code: 'model_deactivated', param: 'model' })
    expect(await openAi.models.retrieve(model).catch(String)).to.contain(next)
    const message = anthropicClient(gateway).messages.create({
      model,
      max_tokens: 10,
      messages: [{ role: 'user', content: 'Hi' }],
    })
    expect(await message.catch(String))
      .to.contain(next)
      .and.contain('not_found_error')
    const client = await connectClient(gateway)
    for (const [tool, input] of [
      ['chat', { model, messages: hello }],
      ['generate-image', { model, prompt: 'A fox' }],
    ] as const) {
      const result = await callTool(client, tool, input)
      expect(result.isError).to.equal(true)
      expect(textOf(result)).to.contain(next)
    }
    await client.close()
  })

  it('is refused where it is a fallback, which the error names', async () => {
    const body = { model: 'gpt-5.4-mini', models: ['gpt-5.4', 'gpt-3.5-turbo'], messages: hello }
    const response = await gateway.post('/v1/chat/completions', body)
    const { message } = await expectError(response, {
      status: 410,
      code: 'model_deactivated',
      param: 'models[1]',
    })
    expect(message).to.contain("'gpt-5.6-terra'")
  })

  it('still reaches a vendor that lists it', async () => {
    const body = { model: 'gpt-4', messages: hello }
    const response = await gateway.post('/v1/chat/completions', body, { key: gateway.liveKey })
    expect(response.headers.get('x-gateway-model')).to.equal('openai/gpt-4')
  })

  it('has no successor that the key may not use', async () => {
    const key = await gateway.createKey('test', { models: ['gpt-5.4'] })
    const response = await gateway.post(
      '/v1/images/generations',
      { model, prompt: 'A fox' },
      { key },
    )
    const { message } = await expectError(response, { status: 410, code: 'model_deactivated' })
    expect(message).to.equal("The model 'dall-e-3' was deactivated. Choose another model.")
  })

  it('is suggested its successor in the models of a new key', async () => {
    const body = { name: 'a key', mode: 'live', models: [model] }
    const response = await gateway.post('/api/keys', body, { key: gateway.adminKey })
    const { message } = await expectError(response, { status: 400, code: 'invalid_value' })
    expect(message).to.contain("Did you mean 'gpt-image-2.6-flare'?")
  })

  it('has a successor in the catalog that is in use', () => {
    const rows = new Map(readCatalogRows().map((row) => [row.id, row]))
    for (const [name, id] of Object.entries(retired)) {
      const [row, own] = [rows.get(id), rows.get(name)]
      expect(row && statusAt(row, Date.parse('2026-11-28')), `${name}: ${id}`).to.equal('active')
      if (own !== undefined)
        expect(own, name).to.include({ status: 'deactivated' }).and.not.have.property('successor')
    }
  })
})
