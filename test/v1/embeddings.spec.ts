import { expect } from 'chai'
import type OpenAI from 'openai'
import type { components } from '../../generated/types.ts'
import { setBudgetOfKey } from '../support/budgets.ts'
import {
  base64Of,
  embeddingVariables,
  embeddingVendors,
  numbersOf,
} from '../support/embedding-vendors.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type CallOptions, type TestGateway } from '../support/gateway.ts'
import { openAiClient } from '../support/openai-client.ts'
import { until } from '../support/until.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

type Schemas = components['schemas']

const model = 'text-embedding-3-small'
const nanoPerToken = 20
const path = '/v1/embeddings'

describe('the embeddings API', () => {
  let upstream: Upstream
  let gateway: TestGateway
  let client: OpenAI
  let turn = 0
  before(async () => {
    upstream = await startUpstream()
    gateway = await startGateway({
      variables: { ...embeddingVariables(upstream.url), ANTHROPIC_API_KEY: 'sk-ant-1' },
      bounds: { keyCacheMs: 0 },
    })
    client = openAiClient(gateway, gateway.liveKey)
  })
  after(async () => {
    await gateway.stop()
    await upstream.stop()
  })
  beforeEach(() => upstream.answer(embeddingVendors))
  const post = (body: object, init: CallOptions = {}) =>
    gateway.post(path, body, { key: gateway.liveKey, ...init })
  /** A text that no earlier request contained. */
  const newText = () => `text ${++turn}`
  const read = async (response: Response) => {
    const text = await response.text()
    expect(response.status, text).to.equal(200)
    return JSON.parse(text) as Schemas['EmbeddingList']
  }

  it('answers 2048 texts with one call, in order', async () => {
    const input = Array.from({ length: 2048 }, (_, index) => `text ${index}`)
    const { data, object } = await client.embeddings.create({ model, input, dimensions: 8 })
    expect(object).to.equal('list')
    expect(upstream.requests).to.have.length(1)
    const vectors = data.map(({ embedding }) => Float32Array.from(embedding))
    expect(vectors).to.deep.equal(input.map((one) => numbersOf(one, 8)))
  })

  const wrong: { body: object; param: string | null; code?: string }[] = [
    { body: { model, input: '' }, param: 'input' },
    { body: { model, input: [] }, param: 'input' },
    { body: { model, input: {} }, param: 'input' },
    { body: { model, input: ['a', ''] }, param: 'input[1]' },
    { body: { model, input: ['a', 5] }, param: 'input[1]' },
    { body: { model, input: [1, -1] }, param: 'input[1]' },
    { body: { model, input: [[1], []] }, param: 'input[1]' },
    { body: { model, input: Array(2049).fill('a') }, param: 'input' },
    { body: { model, input: Array.from({ length: 2049 }, () => [1]) }, param: 'input' },
    { body: { model, input: 'a', encoding_format: 'int8' }, param: 'encoding_format' },
    { body: { model, input: 'a', dimensions: 0 }, param: 'dimensions' },
    { body: { model, input: 'a', dimensions: 1.5 }, param: 'dimensions' },
    { body: { model, input: 'a', task: 'x' }, param: 'task', code: 'unknown_parameter' },
    { body: { model }, param: 'input', code: 'missing_required_parameter' },
    { body: { input: 'a' }, param: 'model', code: 'missing_required_parameter' },
    {
      body: { model, input: ['a', 'x'.repeat(81_921)] },
      param: 'input[1]',
      code: 'context_length_exceeded',
    },
    {
      body: { model, input: [[1], Array(8193).fill(1)] },
      param: 'input[1]',
      code: 'context_length_exceeded',
    },
  ]
  for (const { body, param, code = 'invalid_value' } of wrong) {
    it(`refuses ${JSON.stringify(body).slice(0, 90)}, and names ${param}`, async () => {
      const { message } = await expectError(await post(body), { status: 400, code, param })
      expect(message).to.not.be.oneOf([''])
      expect(upstream.requests).to.deep.equal([])
    })
  }

  for (const { name, hint } of [
    { name: 'gpt-5-mini', hint: '/v1/chat/completions' },
    { name: 'gpt-image-2.6-sunburst', hint: '/v1/images/generations' },
  ]) {
    it(`refuses ${name}, and names its endpoint`, async () => {
      const { message } = await expectError(await post({ model: name, input: 'a' }), {
        status: 400,
        code: 'model_capability_mismatch',
        param: 'model',
      })
      expect(message).to.contain(hint)
    })
  }

  const messages = [{ role: 'user', content: 'a' }]
  for (const { name, other, body, param, code } of [
    { name: 'chat', other: '/v1/chat/completions', body: { model, messages }, param: 'model' },
    {
      name: 'images',
      other: '/v1/images/generations',
      body: { model, prompt: 'a' },
      param: 'model',
    },
    {
      name: 'chat, as a fallback,',
      other: '/v1/chat/completions',
      body: { model: 'gpt-5-mini', models: [model], messages },
      param: 'models[0]',
      code: 'invalid_value',
    },
    {
      name: 'images, as a fallback,',
      other: '/v1/images/generations',
      body: { model: 'gpt-image-2.6-sunburst', models: [model], prompt: 'a' },
      param: 'models[0]',
      code: 'invalid_value',
    },
  ]) {
    it(`has models that ${name} refuse`, async () => {
      const response = await gateway.post(other, body, { key: gateway.liveKey })
      const expected = { status: 400, code: code ?? 'model_capability_mismatch', param }
      const { message } = await expectError(response, expected)
      expect(message).to.contain(code === undefined ? path : model)
    })
  }

  it('refuses models of vendors without embeddings', async () => {
    upstream.answer({ body: { data: [{ id: 'claude-embed' }] } })
    await using other = await startGateway({
      variables: { ANTHROPIC_API_KEY: 'sk-ant-1', ANTHROPIC_BASE_URL: upstream.url },
    })
    const body = { model: 'anthropic/claude-embed', input: 'a' }
    const { message } = await expectError(await other.post(path, body, { key: other.liveKey }), {
      status: 400,
      code: 'model_capability_mismatch',
      param: 'model',
    })
    expect(message).to.contain("does not support embeddings with the provider 'anthropic'")
  })

  it('has its models in /v1/models, and not in the tool for chat', async () => {
    const response = await gateway.fetch('/v1/models', { key: gateway.liveKey })
    const { data } = (await response.json()) as Schemas['ModelList']
    const found = data.find(({ id }) => id === model)!
    expect(found.output_modalities).to.deep.equal(['embedding'])
    expect(found.embedding).to.include({ dimensions: 1536, inputs_per_call_max: 2048 })
    const call = { name: 'list-models', arguments: { family: 'text-embedding', limit: 50 } }
    const tool = await gateway.post(
      '/mcp',
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call },
      { headers: { accept: 'application/json, text/event-stream' } },
    )
    expect(await tool.text())
      .to.contain('Language Models')
      .and.not.contain(model)
  })

  it('answers from the cache, in either encoding', async () => {
    const body = { model, input: [newText(), newText()] }
    const fresh = await read(await post(body))
    const again = await post(body)
    expect(again.headers.get('x-gateway-cache')).to.equal('hit')
    const cached = await read(again)
    expect(cached.data).to.have.length(2)
    expect(cached.data).to.deep.equal(fresh.data)
    expect(cached.usage).to.include({ prompt_tokens: 12, cost: 0, cost_status: 'cached' })
    const encoded = await read(await post({ ...body, encoding_format: 'base64' }))
    const vectors = body.input.map((one) => base64Of(numbersOf(one, 1536)))
    expect(encoded.data.map(({ embedding }) => embedding)).to.deep.equal(vectors)
    expect(upstream.requests).to.have.length(1)
    await read(await post({ ...body, dimensions: 512 }))
    expect(upstream.requests).to.have.length(2)
  })

  it('makes the vectors of identical concurrent calls once', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    upstream.answer((request) => ({ ...embeddingVendors(request), after: promise }))
    const body = { model, input: [newText(), newText(), newText()] }
    const calls = [post(body), post(body)]
    await until('a call has begun', () => upstream.requests.length > 0)
    resolve()
    const [one, other] = await Promise.all(calls.map(async (call) => read(await call)))
    expect(other!.data).to.deep.equal(one!.data)
    expect(one!.data).to.have.length(3)
    expect(upstream.requests).to.have.length(1)
  })

  it('makes the vectors of a request with an idempotency key once', async () => {
    const headers = { 'idempotency-key': 'embeddings-1', 'cache-control': 'no-store' }
    const body = { model, input: newText() }
    const [first, again] = [await post(body, { headers }), await post(body, { headers })]
    expect(await again.text()).to.equal(await first.text())
    expect(upstream.requests).to.have.length(1)
    expect(upstream.requests[0]!.headers['idempotency-key']).to.be.a('string')
    await expectError(await post({ model, input: newText() }, { headers }), {
      status: 409,
      code: 'idempotency_key_reused',
    })
  })

  /** A byte is at most one token, and a text has 16 more. */
  const mostOf = (text: string) => (Buffer.byteLength(text) + 16) * nanoPerToken

  it('reserves the maximum cost in a budget, and spends the exact cost', async () => {
    const input = newText()
    const key = await gateway.createKey('live')
    await setBudgetOfKey(gateway, key, { nanoUsd: mostOf(input) - 1, period: 'total' })
    const refused = await post({ model, input }, { key })
    expect(refused.status).to.equal(402)
    expect(upstream.requests).to.deep.equal([])
    await setBudgetOfKey(gateway, key, { nanoUsd: mostOf(input), period: 'total' })
    await read(await post({ model, input }, { key }))
    const response = await gateway.fetch('/api/key', { key })
    const { budget } = (await response.json()) as { budget: Record<string, unknown> }
    expect(budget['spent']).to.include({ nano_usd: 6 * nanoPerToken })
    expect(budget['reserved']).to.include({ nano_usd: 0 })
    expect((await post({ model, input: newText() }, { key })).status).to.equal(402)
  })

  it('has a quote: the maximum cost', async () => {
    const request = { model, input: ['text 1', 'größer 2'] }
    const body = { operation: 'createEmbedding', request }
    const response = await gateway.post('/v1/prices', body, { key: gateway.liveKey })
    const { routes } = (await response.json()) as Schemas['PriceQuote']
    const nanoUsd = mostOf('text 1') + mostOf('größer 2')
    expect(routes[0]).to.include({ kind: 'at_most', provider: 'openai' })
    expect(routes[0]!.amount!.nano_usd).to.equal(nanoUsd)
    expect(routes[0]!.lines!.map(({ what }) => what)).to.deep.equal(['input_tokens'])
  })

  it('counts against the tokens of a minute', async () => {
    const key = await gateway.createKey('live')
    await gateway.allow({ tokens_per_minute: 10 }, key)
    const { status } = await post({ model, input: 'x'.repeat(100) }, { key })
    expect(status).to.equal(429)
    await read(await post({ model, input: newText() }, { key }))
  })

  it('makes strict calls fail for what a vendor would drop', async () => {
    const body = { model: 'mistral/mistral-embed', input: newText(), user: 'ada' }
    const response = await post(body, { headers: { 'x-gateway-strict': 'true' } })
    await expectError(response, { status: 400, code: 'unsupported_parameter', param: 'user' })
  })
})
