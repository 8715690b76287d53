import { expect } from 'chai'
import { completion } from '../support/chat-answers.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { hello, ownProvider, quickLimits } from '../support/own-endpoint.ts'
import { pixel } from '../support/pixel.ts'
import { toolCall } from '../support/mcp-client.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

const free = { input_per_million_tokens: 0, output_per_million_tokens: 0 }

describe('the operator’s prices and models', () => {
  let upstream: Upstream
  let gateway: TestGateway
  before(async () => {
    upstream = await startUpstream()
    upstream.answer(completion('Hi'))
    gateway = await startGateway({
      variables: {
        OWN_API_KEY: 'sk-own-0123456789abcdef',
        OPENAI_API_KEY: 'sk-any-0123456789abcdefghij',
        OPENAI_BASE_URL: upstream.url,
      },
      file: {
        limits: { ...quickLimits, cache_ttl_seconds: 0 },
        providers: [ownProvider('own', upstream)],
        catalog: {
          'gpt-4.1': { name: 'Ours', pricing: { input_per_million_tokens: 7 } },
          'own/free': { pricing: free },
          'own/seer': {
            name: 'Seer',
            family: 'house',
            context_window: 1000,
            max_output_tokens: 50,
            capabilities: { tools: false },
            pricing: { input_per_million_tokens: '1000', output_per_million_tokens: 2000.5 },
          },
          'gemini-2.5-flash-lite': { pricing: { input_per_million_tokens: 7 } },
          'own/old': { status: 'deactivated', successor: 'own/seer' },
          'openai/gpt-new': { pricing: { ...free, output_per_million_tokens: 1 } },
        },
      },
    })
  })
  after(async () => {
    await gateway.stop()
    await upstream.stop()
  })

  const ask = (model: string, body: object = {}) =>
    gateway.post(
      '/v1/chat/completions',
      { model, messages: hello, ...body },
      { key: gateway.liveKey },
    )
  const costOf = async (model: string) => {
    const { headers } = await ask(model)
    return headers.get('x-gateway-cost-usd')
  }

  it('determine the cost of an answer', async () => {
    // The cost of nine input tokens and four output tokens.
    expect(await costOf('own/seer')).to.equal('0.017002')
    expect(await costOf('own/free')).to.equal('0')
    expect(await costOf('openai/gpt-new')).to.equal('0.000004')
    const row = (await gateway.usage()).find(({ model }) => model === 'own/seer')
    expect(row).to.include({ cost_nano_usd: 17_002_000, cost_status: 'exact' })
  })

  it('replace single members: the price of output is still the catalog’s', async () => {
    const answer = await gateway.fetch('/v1/models/gpt-4.1')
    const model = (await answer.json()) as { name: string; pricing: object }
    expect(model.name).to.equal('Ours')
    expect(model.pricing).to.include({
      input_per_million_tokens: '7',
      output_per_million_tokens: '8',
    })
    expect(await costOf('gpt-4.1')).to.equal('0.000095')
  })

  it('also apply to images and audio that cost the same as text', async () => {
    const answer = await gateway.fetch('/v1/models/gemini-2.5-flash-lite')
    const { pricing } = (await answer.json()) as { pricing: object }
    expect(pricing).to.include({
      input_per_million_tokens: '7',
      image_input_per_million_tokens: '7',
      // The catalog's price of audio differs from that of text.
      audio_input_per_million_tokens: '0.3',
    })
  })

  it('are listed by the HTTP API and by the MCP tool', async () => {
    const answer = await gateway.fetch('/v1/models', { key: gateway.liveKey })
    const { data } = (await answer.json()) as { data: { id: string; context_window?: number }[] }
    expect(data.map(({ id }) => id)).to.include.members(['own/free', 'own/seer', 'openai/gpt-new'])
    expect(data.find(({ id }) => id === 'own/seer')).to.include({ context_window: 1000 })
    const listed = await gateway.post('/mcp', toolCall('list-models', { family: 'house' }), {
      key: gateway.liveKey,
    })
    const text = await listed.text()
    expect(text).to.contain('**own/seer** (Seer): context 1000 tokens')
    expect(text).to.contain('$1000 input, $2000.5 output')
  })

  it('are checked against the capabilities of a model, if it has any', async () => {
    const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
    const refused = await ask('own/seer', { tools })
    await expectError(refused, { status: 400, code: 'model_capability_mismatch', param: 'tools' })
    await expectError(await ask('own/seer', { max_tokens: 51 }), {
      status: 400,
      code: 'invalid_value',
    })
    expect((await ask('own/free', { tools })).status).to.equal(200)
    const content = [{ type: 'image_url', image_url: { url: pixel } }]
    expect((await ask('own/seer', { messages: [{ role: 'user', content }] })).status).to.equal(200)
  })

  it('replace a deactivated model by its successor', async () => {
    const answer = await ask('own/old')
    expect(answer.headers.get('x-gateway-model')).to.equal('own/seer')
  })

  it('change with a reload from the next call on; cached answers stay', async () => {
    const settings = (usd: number, more: object = {}) => ({
      limits: quickLimits,
      providers: [ownProvider('own', upstream)],
      catalog: { 'own/free': { pricing: { ...free, input_per_million_tokens: usd }, ...more } },
    })
    await using other = await startGateway({
      variables: { OWN_API_KEY: 'sk-own-0123456789abcdef' },
      file: settings(1),
    })
    const cacheAndCost = async (content = 'hello') => {
      const { headers } = await other.post(
        '/v1/chat/completions',
        { model: 'own/free', messages: [{ role: 'user', content }] },
        { key: other.liveKey },
      )
      return [headers.get('x-gateway-cache'), headers.get('x-gateway-cost-usd')]
    }
    expect(await cacheAndCost()).to.deep.equal(['miss', '0.000009'])
    const answer = await other.reload(settings(2))
    expect(await answer.json()).to.deep.include({ changed: ['catalog'] })
    expect(await cacheAndCost()).to.deep.equal(['hit', '0'])
    expect(await cacheAndCost('anew')).to.deep.equal(['miss', '0.000018'])
    await other.reload(settings(2, { capabilities: { tools: false } }))
    expect(await cacheAndCost()).to.deep.equal(['miss', '0.000018'])
  })
})
