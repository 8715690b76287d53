import { expect } from 'chai'
import { completion } from '../support/chat-answers.ts'
import { expectError } from '../support/expect-error.ts'
import { hello, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { pixel, pixelFile } from '../support/pixel.ts'

type Warned = {
  warnings?: { param: string; requested: unknown; applied: unknown; reason: string }[]
}

/** Fields of OpenAI's chat request. Generated clients send unset fields as null. */
const chatFields = [
  'audio cache_control frequency_penalty function_call functions image_config logit_bias logprobs',
  'max_completion_tokens max_tokens metadata modalities models n parallel_tool_calls prediction',
  'presence_penalty reasoning_effort response_format seed service_tier stop store stream',
  'stream_options temperature tool_choice tools top_logprobs top_p user verbosity made_up',
].flatMap((names) => names.split(' '))
const imageFields = [
  'background model moderation n output_compression output_format partial_images quality',
  'response_format size stream style user input_fidelity mask made_up',
].flatMap((names) => names.split(' '))
/** Default values of chat fields in OpenAI's API. */
const chatDefaults = {
  stream: false,
  n: 1,
  store: false,
  logprobs: false,
  parallel_tool_calls: true,
  presence_penalty: 0,
  frequency_penalty: 0,
  modalities: ['text'],
  service_tier: 'auto',
  response_format: { type: 'text' },
  tool_choice: 'none',
  tools: [],
  functions: [],
  stop: [],
  logit_bias: {},
  metadata: {},
  stream_options: {},
  user: '',
}
const imageDefaults = {
  model: 'auto',
  n: 1,
  size: 'auto',
  quality: 'auto',
  background: 'auto',
  response_format: 'b64_json',
  stream: false,
  partial_images: 0,
}

describe('a field that is absent, empty or the default', () => {
  let own: OwnEndpoint
  before(async () => {
    own = await startOwnEndpoint({ limits: { cache_ttl_seconds: 0 } })
    own.upstream.answer(completion('Hi.'))
  })
  after(() => own.stop())

  const nulls = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, null]))
  const silently = async (response: Response) => {
    const text = await response.text()
    expect(response.status, text).to.equal(200)
    expect(response.headers.get('x-gateway-warnings'), text).to.equal(null)
    return text
  }

  it('is not sent to a provider when it is null', async () => {
    await silently(await own.chat(nulls(chatFields)))
    expect(own.upstream.requests.at(-1)!.body).to.deep.equal({ model: 'house-1', messages: hello })
  })

  it('is not sent when it is null in a message, except the content of an assistant message', async () => {
    const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }
    const messages = [
      { role: 'user', name: null, content: [{ type: 'text', text: 'Hi.', cache_control: null }] },
      { role: 'assistant', content: null, refusal: null, audio: null, tool_calls: [call] },
      { role: 'tool', content: 'done', tool_call_id: 'c1', name: null },
    ]
    await silently(await own.chat({ messages }))
    expect(own.upstream.requests.at(-1)!.body).to.have.deep.property('messages', [
      { role: 'user', content: [{ type: 'text', text: 'Hi.' }] },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', content: 'done', tool_call_id: 'c1' },
    ])
  })

  it('is sent unchanged where the contract does not restrict the member', async () => {
    const parameters = { type: 'object', properties: { a: { default: null } } }
    const free = {
      tools: [{ type: 'function', function: { name: 'f', parameters } }],
      metadata: { a: null },
    }
    await silently(await own.chat(free))
    expect(own.upstream.requests.at(-1)!.body).to.deep.include(free)
  })

  it('is not sent when it is empty, nor are tool settings without tools', async () => {
    const { tools, functions, stop, logit_bias, metadata, stream_options } = chatDefaults
    const empty = { tools, functions, stop, logit_bias, metadata, stream_options }
    await silently(await own.chat({ ...empty, tool_choice: 'auto', parallel_tool_calls: true }))
    expect(own.upstream.requests.at(-1)!.body).to.deep.equal({ model: 'house-1', messages: hello })
  })

  for (const model of ['gpt-5-mini', 'claude-sonnet-4-5', 'gemini-2.5-flash', 'qwen-image-plus']) {
    it(`is accepted in a chat with ${model} without a warning`, async () => {
      const { gateway } = own
      for (const said of [chatDefaults, nulls(chatFields)]) {
        const body = { ...said, model, messages: hello }
        await silently(await gateway.post('/v1/chat/completions', body))
      }
    })
  }

  it('is accepted by the images API without a warning', async () => {
    const fox = { prompt: 'a fox' }
    const images = [{ image_url: pixel }]
    const asked: [path: string, body: object][] = [
      ['generations', { ...nulls(imageFields), ...fox }],
      ['generations', { ...imageDefaults, ...fox, style: 'vivid', moderation: 'auto' }],
      ['edits', { ...nulls(imageFields), ...fox, images }],
      ['edits', { ...imageDefaults, ...fox, images }],
    ]
    for (const [path, body] of asked) {
      await silently(await own.gateway.post(`/v1/images/${path}`, body))
    }
  })

  it('is accepted in a form, where an empty value means null', async () => {
    for (const values of [nulls([...imageFields, 'n']), imageDefaults]) {
      const body = new FormData()
      body.append('prompt', 'a fox')
      body.append('image', pixelFile)
      for (const [name, value] of Object.entries(values)) body.append(name, String(value ?? ''))
      await silently(await own.gateway.fetch('/v1/images/edits', { method: 'POST', body }))
    }
  })

  it('is accepted by the tool server at every level of a message', async () => {
    const call = (params: unknown) =>
      own.gateway.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    const listed = await own.gateway.post('/mcp', {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/list',
      params: null,
    })
    expect(await listed.text()).to.include('"tools":[')
    const answers = [
      await call({ name: 'list-models', arguments: null, _meta: null }),
      await call({
        name: 'list-models',
        arguments: { limit: null },
        _meta: { progressToken: null },
      }),
      await call({ name: 'generate-image', arguments: { prompt: 'a fox', model: null, n: null } }),
    ]
    for (const answer of answers) expect(await answer.text()).to.include('"content":[')
  })

  it('is reported as missing when it is required and null', async () => {
    const rows: [path: string, body: object, param: string][] = [
      ['/v1/chat/completions', { model: null, messages: hello }, 'model'],
      ['/v1/chat/completions', { model: 'gpt-5-mini', messages: null }, 'messages'],
      ['/v1/images/generations', { prompt: null }, 'prompt'],
      ['/v1/images/edits', { prompt: 'a fox', images: null }, 'images'],
      ['/v1/images/edits', { prompt: 'a', images: [{ image_url: null }] }, 'images[0].image_url'],
    ]
    for (const [path, body, param] of rows) {
      const response = await own.gateway.post(path, body)
      await expectError(response, { status: 400, code: 'missing_required_parameter', param })
    }
  })

  it('does not hide a misspelled field: that is passed on with a warning that names the right one', async () => {
    const response = await own.chat({ max_token: 5, top_k: 40 })
    const { warnings } = (await response.json()) as Warned
    expect(own.upstream.requests.at(-1)!.body).to.include({ max_token: 5, top_k: 40 })
    expect(warnings).to.have.length(1)
    expect(warnings![0]).to.include({ param: 'max_token', requested: 5, applied: 5 })
    expect(warnings![0]!.reason).to.include("Did you mean 'max_tokens'?")
  })

  it('does not prevent the refusal of a misspelled field in strict mode', async () => {
    const response = await own.chat({ max_token: 5 }, { headers: { 'x-gateway-strict': 'true' } })
    const expected = { status: 400, code: 'unsupported_parameter', param: 'max_token' }
    expect((await expectError(response, expected)).message).to.include("'max_tokens'")
  })
})
