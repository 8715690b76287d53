import { expect } from 'chai'
import { answerComplaints, received, type Answer } from '../support/answers.ts'
import { strictComplaints } from '../support/contract.ts'
import { startGateway, type CallOptions, type TestGateway } from '../support/gateway.ts'
import { pixel, pixelFile } from '../support/pixel.ts'

const prompt = 'A lighthouse in a storm'
const messages = [{ role: 'user', content: prompt }]
const weather = {
  type: 'function',
  function: {
    name: 'weather',
    parameters: { type: 'object', required: ['city'], properties: { city: { type: 'string' } } },
  },
}
const schema = { type: 'object', required: ['answer'], properties: { answer: { type: 'string' } } }
const painter = 'gemini-3-pro-image-preview'
const stream = { stream: true, stream_options: { include_usage: true } }

type Row = {
  name: string
  path: string
  id: string
  body?: object
  init?: CallOptions
  /** The one of several forms that the answer has. */
  schema?: string
}

const image = (name: string, body: object, init?: CallOptions): Row => ({
  name: `an image: ${name}`,
  id: 'createImage',
  path: '/v1/images/generations',
  body: { prompt, ...body },
  ...(init === undefined ? {} : { init }),
})
const edit = (name: string, body: object): Row => ({
  name: `an edit: ${name}`,
  id: 'createImageEdit',
  path: '/v1/images/edits',
  body: { prompt, images: [{ image_url: pixel }], ...body },
})
const chat = (name: string, body: object): Row => ({
  name: `a chat: ${name}`,
  id: 'createChatCompletion',
  path: '/v1/chat/completions',
  body: { model: 'gpt-5-mini', messages, ...body },
})
const response = (name: string, body: object): Row => ({
  name: `a response: ${name}`,
  id: 'createResponse',
  path: '/v1/responses',
  body: { model: 'gpt-5-mini', input: 'Hello.', ...body },
})
const message = (name: string, body: object): Row => ({
  name: `a message: ${name}`,
  id: 'createMessage',
  path: '/v1/messages',
  body: { model: 'gpt-5-mini', max_tokens: 500, messages, ...body },
})
const tool = { name: 'weather', input_schema: weather.function.parameters }
const list = (name: string, query: string, schema = 'ModelList'): Row => ({
  name: `a list of models: ${name}`,
  id: 'listModels',
  path: `/v1/models${query}`,
  schema,
})
const model = (id: string, schema = 'Model'): Row => ({
  name: `a model: ${id}, as ${schema}`,
  id: 'retrieveModel',
  path: `/v1/models/${id}`,
  schema,
})
/** The same from a client of Anthropic's API. */
const toAnthropics = (row: Row): Row => ({
  ...row,
  init: { headers: { 'anthropic-version': '2023-06-01' } },
})

const rows: Row[] = [
  response('the shortest request', {}),
  response('with warnings', { sparkle: 1 }),
  response('with a refusal', { input: 'sandbox:refusal' }),
  response('that is incomplete', { input: 'sandbox:length' }),
  response('with a call of a tool', {
    input: 'sandbox:tool-call',
    tools: [{ type: 'function', name: 'get_weather' }],
  }),
  response('with a call of a custom tool', {
    input: 'sandbox:tool-call',
    model: 'claude-sonnet-4-6',
    tools: [{ type: 'custom', name: 'shell' }],
  }),
  response('streamed', { stream: true }),
  image('the shortest request', {}),
  image('the same, from the cache', {}),
  image('past the cache', {}, { headers: { 'cache-control': 'no-store' } }),
  image('adjusted, with warnings', { model: 'qwen-image-plus', size: '1000x700', n: 2 }),
  image('of a model that is going away', { model: 'alibaba/qwen-image-max' }),
  image('priced by tokens', { model: 'gpt-image-1-mini', quality: 'low', user: 'u-1' }),
  image('without a price', { model: 'gpt-image-2.6-flare', background: 'transparent' }),
  image('converted', { output_format: 'webp', output_compression: 50 }),
  image('whose vendor counts nothing', { prompt: 'sandbox:no-usage', model: 'gpt-image-1-mini' }),
  edit('of one image', { model: 'gpt-image-2' }),
  edit('with all options', {
    model: 'gpt-image-2',
    n: 2,
    background: 'opaque',
    input_fidelity: 'high',
    output_format: 'jpeg',
    output_compression: 80,
    quality: 'low',
    size: '1024x1024',
  }),
  chat('the shortest request', {}),
  chat('several choices', { n: 2 }),
  chat('a tool call', { tools: [weather], tool_choice: 'required' }),
  chat('a JSON answer', {
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
  }),
  chat('whose vendor counts nothing', {
    messages: [{ role: 'user', content: 'sandbox:no-usage' }],
  }),
  chat('streamed', { stream: true }),
  chat('streamed with usage', stream),
  chat('streamed with usage, from the cache', stream),
  chat('a tool call, streamed', { ...stream, tools: [weather], tool_choice: 'required' }),
  chat('with an image model', { model: painter }),
  chat('with an image model and its options', {
    model: 'alibaba/qwen-image-plus',
    image_config: { image_size: '1024x1536', n: 2, seed: 7 },
  }),
  chat('with an image model, streamed', { model: painter, stream: true }),
  chat('with an image model, streamed with usage', { model: painter, ...stream }),
  message('the shortest request', {}),
  message('adjusted, with warnings', { top_k: 5 }),
  message('a tool call', { tools: [tool], tool_choice: { type: 'any' } }),
  message('streamed', { stream: true }),
  message('streamed with warnings', { stream: true, speed: 'fast' }),
  message('a tool call, streamed', { stream: true, tools: [tool], tool_choice: { type: 'any' } }),
  message('a refusal', { messages: [{ role: 'user', content: 'sandbox:refusal' }] }),
  list('all that a test key reaches', ''),
  list('with those that are gone', '?include_deactivated=true'),
  list('without those that are going', '?exclude_deprecated=true'),
  list('a few of a family', '?family=qwen-image&limit=2'),
  list('none', '?family=no-such-family'),
  list('for Codex', '?client_version=0.171.0'),
  toAnthropics(list('for clients of Anthropic', '', 'AnthropicModelList')),
  toAnthropics(list('a page for them', '?limit=2', 'AnthropicModelList')),
  toAnthropics(list('none for them', '?family=no-such-family', 'AnthropicModelList')),
  model('gpt-5-mini'),
  model('alibaba/qwen-image-plus'),
  model('alibaba%2Fqwen-image-plus'),
  model('qwen-image-plus'),
  toAnthropics(model('gpt-5-mini', 'AnthropicModel')),
  toAnthropics(model('qwen-image-plus', 'AnthropicModel')),
]

/** Headers of each answer of a model (docs/behaviour.md#headers). */
const always = [
  'x-request-id',
  'x-gateway-model',
  'x-gateway-provider',
  'x-gateway-cache',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'ratelimit',
  'ratelimit-policy',
]

describe('a successful answer complies with the contract', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  for (const { name, id, path, body, init, schema } of rows) {
    it(`for ${name}`, async () => {
      const answer = await ask(path, body, init)
      expect(answer.status, answer.text).to.equal(200)
      expect(answerComplaints(id, answer)).to.deep.equal([])
      if (schema !== undefined) {
        const form = { $ref: `#/components/schemas/${schema}` }
        expect(strictComplaints(form, JSON.parse(answer.text))).to.deep.equal([])
      }
      if (body !== undefined) expect([...answer.headers.keys()]).to.include.members(always)
    })
  }

  it('for an edit sent as a form', async () => {
    const form = new FormData()
    for (const name of ['image', 'image[]']) form.append(name, pixelFile)
    form.append('prompt', prompt)
    form.append('n', '2')
    const answer = await received(
      await gateway.fetch('/v1/images/edits', { method: 'POST', body: form }),
    )
    expect(answer.status, answer.text).to.equal(200)
    expect(answerComplaints('createImageEdit', answer)).to.deep.equal([])
  })

  it('with the cost, unless the price is unknown', async () => {
    const priced = await ask('/v1/images/generations', { prompt })
    expect(priced.headers.get('x-gateway-cost-usd')).to.match(/^\d+(\.\d+)?$/)
    const body = { prompt, model: 'alibaba/qwen-image-2.1-pro' }
    const unpriced = await ask('/v1/images/generations', body)
    expect(unpriced.headers.get('x-gateway-cost-usd')).to.equal(null)
  })

  it('with the number of warnings', async () => {
    const body = { prompt, model: 'qwen-image-plus', size: '1000x700', style: 'natural' }
    const { headers, text } = await ask('/v1/images/generations', body)
    const { warnings } = JSON.parse(text) as { warnings: { param: string }[] }
    expect(warnings.map(({ param }) => param)).to.have.members(['size', 'style'])
    expect(headers.get('x-gateway-warnings')).to.equal('2')
  })

  it('with the dates of a deprecated model', async () => {
    const { headers } = await ask('/v1/images/generations', { prompt, model: 'qwen-image-plus' })
    expect(headers.get('deprecation')).to.equal(`@${Date.parse('2026-09-02') / 1000}`)
  })

  it('with an error at the end of an interrupted stream, without [DONE]', async () => {
    const broken = [{ role: 'user', content: 'sandbox:cut-stream' }]
    const body = { model: 'gpt-5-mini', messages: broken, stream: true }
    const answer = await ask('/v1/chat/completions', body)
    expect(answer.status).to.equal(200)
    expect(answerComplaints('createChatCompletion', answer)).to.deep.equal([])
    expect(answer.text).to.match(/event: error\ndata: \{"error":.*\}\n\n$/)
  })

  it('with an error in the form of Anthropic at the end of an interrupted message', async () => {
    const broken = [{ role: 'user', content: 'sandbox:cut-stream' }]
    const body = { model: 'gpt-5-mini', max_tokens: 100, messages: broken, stream: true }
    const answer = await ask('/v1/messages', body)
    expect(answer.status).to.equal(200)
    expect(answerComplaints('createMessage', answer)).to.deep.equal([])
    expect(answer.text).to.match(/event: error\ndata: \{"type":"error".*\}\n\n$/)
  })

  async function ask(path: string, body?: object, init?: CallOptions): Promise<Answer> {
    const response = body === undefined ? gateway.fetch(path, init) : gateway.post(path, body, init)
    return received(await response)
  }
})
