import { APIError, type Anthropic } from '@anthropic-ai/sdk'
import { expect } from 'chai'
import { anthropicClient } from '../support/anthropic-client.ts'
import { anthropicEvents } from '../support/anthropic-answers.ts'
import { setBudgetOfKey } from '../support/budgets.ts'
import { chatVendors, startVendorGateway, type VendorGateway } from '../support/chat-vendors.ts'
import { readEvents } from '../support/event-stream.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { openAiDouble } from '../support/openai-upstream.ts'
import type { ScriptedAnswer } from '../support/upstream.ts'

const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Hello.' }]
const model = 'gpt-4.1'
const usual = { model, max_tokens: 100, messages }
type ErrorBody = {
  type: string
  error: { type: string; message: string; details: { error_code: string; param: string | null } }
  request_id: string
}

describe('the errors of the Messages API', () => {
  let house: VendorGateway
  let client: Anthropic
  before(async () => {
    house = await startVendorGateway()
    client = anthropicClient(house.gateway)
  })
  after(() => house.stop())

  const failureOf = async (asking: PromiseLike<unknown>): Promise<APIError> => {
    const thrown: unknown = await asking.then(
      () => new Error('The call did not fail.'),
      (error: unknown) => error,
    )
    if (!(thrown instanceof APIError)) throw thrown
    return thrown
  }
  const post = (body: object, key = house.gateway.liveKey) =>
    house.gateway.post('/v1/messages', body, { key })
  const refusalOf = async (body: object) => {
    const response = await post(body)
    const { type, error, request_id: id } = (await response.json()) as ErrorBody
    expect(type).to.equal('error')
    expect(response.headers.get('request-id')).to.equal(id)
    expect(response.headers.get('x-request-id')).to.equal(id)
    return { status: response.status, ...error }
  }

  for (const [path, sent, type] of [
    ['/v1/messages/batches', {}, 'error'],
    ['/v1/messages/batches/b1/results', {}, 'error'],
    ['/v1/files', { 'anthropic-version': '2023-06-01' }, 'error'],
    ['/v1/files', {}, undefined],
  ] as const) {
    it(`have ${type ? "Anthropic's" : "OpenAI's"} form at the unknown path ${path}`, async () => {
      const { liveKey: key } = house.gateway
      const response = await house.gateway.fetch(path, { key, headers: sent })
      const body = (await response.json()) as Record<string, unknown>
      expect(response.status).to.equal(404)
      expect(body['type']).to.equal(type)
      if (type) expect(body['error']).to.include({ type: 'not_found_error' })
    })
  }

  it('have the classes and types of Anthropic’s client', async () => {
    const narrow = await house.gateway.createKey('live', { models: ['gpt-5'] })
    const poor = await house.gateway.createKey('live')
    await setBudgetOfKey(house.gateway, poor, { nanoUsd: 0, period: 'total' })
    const withKey = (key: string) => anthropicClient(house.gateway, key).messages.create(usual)
    const { max_tokens: _most, ...counted } = usual
    const countWithKey = (key: string) =>
      anthropicClient(house.gateway, key).messages.countTokens(counted)
    for (const [ask, status, type, code] of [
      [() => withKey('mag_live_wrong'), 401, 'authentication_error', 'invalid_api_key'],
      [() => withKey(poor), 402, 'billing_error', 'insufficient_quota'],
      [() => withKey(narrow), 403, 'permission_error', 'model_not_allowed'],
      [() => countWithKey(narrow), 403, 'permission_error', 'model_not_allowed'],
      [
        () => client.messages.create({ ...usual, model: 'no-such-model' }),
        404,
        'not_found_error',
        'model_not_found',
      ],
      [
        () => client.messages.create({ ...usual, model: 'zai/glm-5' }),
        529,
        'overloaded_error',
        'no_provider_configured',
      ],
    ] as const) {
      const error = await failureOf(ask())
      expect([error.status, error.type, error.errorCode]).to.deep.equal([status, type, code])
      expect(error.requestID).to.match(/^req_/)
    }
  })

  for (const [answered, status, type] of [
    [429, 429, 'rate_limit_error'],
    [500, 502, 'api_error'],
    [504, 504, 'timeout_error'],
    [413, 413, 'request_too_large'],
  ] as const) {
    it(`are ${status} when the vendor answers ${answered}`, async () => {
      house.upstreams.openai.answer({ status: answered, body: { error: { message: 'No.' } } })
      const { status: told, type: kind } = await failureOf(client.messages.create(usual))
      expect([told, kind]).to.deep.equal([status, type])
    })
  }

  it('name the missing or wrong parameter', async () => {
    const { max_tokens: _most, ...without } = usual
    const tool = { name: 'look', input_schema: { type: 'object' } }
    const block = (content: object[], role = 'user') => ({
      ...usual,
      messages: [{ role, content }],
    })
    const use = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }
    for (const [body, param, code = 'invalid_value'] of [
      [without, 'max_tokens', 'missing_required_parameter'],
      [{ ...usual, max_tokens: 0 }, 'max_tokens'],
      [{ ...usual, temperature: 1.5 }, 'temperature'],
      [{ ...usual, container: 'c_1' }, 'container', 'unsupported_parameter'],
      [{ ...usual, inference_geo: 'us' }, 'inference_geo', 'unsupported_parameter'],
      [{ ...usual, mcp_servers: [{ url: 'x' }] }, 'mcp_servers', 'unsupported_parameter'],
      [
        { ...usual, tools: [tool, { type: 'web_search_20260318', name: 'web_search' }] },
        'tools[1].type',
        'unsupported_value',
      ],
      [
        { ...usual, tools: [tool], tool_choice: { type: 'tool', name: 'none' } },
        'tool_choice.name',
      ],
      [
        { ...usual, model: 'claude-sonnet-4-6', tools: [{ ...tool, name: 'a.b' }] },
        'tools[0].name',
      ],
      [block([use]), 'messages[0].content[0].type'],
      [block([{ type: 'hologram' }]), 'messages[0].content[0].type'],
      [
        block([{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'x' }]),
        'messages[0].content[0]',
      ],
      [{ ...usual, messages: [...messages, { role: 'assistant', content: [use] }] }, 'messages[1]'],
      [
        block([
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'fox' } },
        ]),
        'messages[0]',
      ],
      [
        block([{ type: 'document', source: { type: 'base64', media_type: 'a/b', data: 'fox' } }]),
        'messages[0].content[0].source.media_type',
      ],
    ] as [object, string, string?][]) {
      const { status, type, message, details } = await refusalOf(body)
      expect({ status, type, ...details }, message).to.deep.equal({
        status: 400,
        type: 'invalid_request_error',
        error_code: code,
        param,
      })
      expect(message).to.contain(param)
    }
  })

  it('send a picture model elsewhere', async () => {
    const { status, message } = await refusalOf({ ...usual, model: 'gpt-image-2' })
    expect(status).to.equal(400)
    expect(message).to.contain('POST /v1/images/generations')
  })

  const tooLong = (answer: ScriptedAnswer) => house.upstreams.openai.answer(answer)
  const openAiWords =
    "This model's maximum context length is 128000 tokens. However, you requested 200000 tokens (190000 in the messages, 10000 in the completion)."
  const sized = /^prompt is too long: 200000 tokens > 128000 maximum$/
  const usualLimit = /^prompt is too long: \d+ tokens > 1047576 maximum$/
  for (const [words, expected] of [
    [openAiWords, sized],
    ['prompt is too long: 200000 tokens > 128000 maximum', sized],
    [
      'The input token count (200000) exceeds the maximum number of tokens allowed (128000).',
      sized,
    ],
    ['Your request exceeded model token limit: 128000 (requested: 200000)', sized],
    ["Input length (200000) exceeds model's maximum context length (128000).", sized],
    ["The input (200000 tokens) is longer than the model's context length (128000 tokens).", sized],
    ['request (200000 tokens) exceeds the available context size (128000 tokens)', sized],
    ['Prompt has 200,000 tokens, but the configured context size is 128,000 tokens', sized],
    ['prompt token count of 200000 exceeds the limit of 128000', sized],
    ['Input length 200000 exceeds the maximum allowed input length of 128000 tokens.', sized],
    ["This model's maximum prompt length is 128000 but the request contains 200000 tokens.", sized],
    [
      'Prompt contains 200000 tokens and 0 draft tokens, too large for model with 128000 maximum context length',
      sized,
    ],
    [
      'Please reduce the length of the messages. Current length is 200000 while limit is 128000',
      sized,
    ],
    ['The prompt exceeds the context limit: 200000 tokens requested, 128000 allowed.', sized],
    ['Range of input length should be [1, 128000]', /^prompt is too long: 128001 tokens > 128000/],
    ['invalid params, context window exceeds limit (2013)', usualLimit],
    ['prompt too long; exceeded max context length by 14096 tokens', usualLimit],
    ['Input is too long for requested model.', usualLimit],
    [
      'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease them',
      /^input length and `max_tokens` exceed context limit: 190000 \+ 20000 > 200000/,
    ],
  ] as const) {
    it(`name a prompt that is too long as Claude Code reads it: ${words.slice(0, 60)}`, async () => {
      tooLong({ status: 400, body: { error: { message: words, code: 'x' } } })
      const { status, type, message } = await refusalOf(usual)
      expect([status, type]).to.deep.equal([400, 'invalid_request_error'])
      expect(message).to.match(expected)
    })
  }

  it('tell so also of a prompt that the gateway finds too long', async () => {
    const content = 'word '.repeat(2_500_000)
    const { message } = await refusalOf({ ...usual, messages: [{ role: 'user', content }] })
    const [, asked, most] = /^prompt is too long: (\d+) tokens > (\d+) maximum$/.exec(message)!
    expect(Number(asked)).to.be.greaterThan(Number(most))
  })

  it('end a stream that fails in the middle, without message_stop', async () => {
    const { id, model: claude } = chatVendors[1]!
    const begun = anthropicEvents({ text: ['It ', 'is'] }, claude).slice(0, 4)
    const failed = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
    house.upstreams[id].answer({
      pieces: [...begun, `event: error\ndata: ${JSON.stringify(failed)}\n\n`],
    })
    const request = { ...usual, model: claude, stream: true }
    const events = readEvents(await (await post(request)).text())
    expect(events.at(-1)!.name).to.equal('error')
    const { type, error, request_id: requestId } = JSON.parse(events.at(-1)!.data!) as ErrorBody
    expect([type, error.type]).to.deep.equal(['error', 'api_error'])
    expect(error.message).to.contain('Overloaded')
    expect(requestId).to.match(/^req_/)
    expect(events.map(({ name }) => name)).not.to.include('message_stop')
    const thrown = await failureOf(client.messages.stream({ ...usual, model: claude }).done())
    expect(thrown.type).to.equal('api_error')
  })

  it('are answers with a status before the first event', async () => {
    house.upstreams.openai.answer({ status: 500, body: {} })
    const response = await post({ ...usual, stream: true })
    expect(response.status).to.equal(502)
    expect(((await response.json()) as ErrorBody).error.type).to.equal('api_error')
  })

  it('are replayed by an idempotency key in the same form', async () => {
    house.upstreams.openai.answer(openAiDouble(() => ({ text: ['Hi.'] })))
    const headers = { 'idempotency-key': 'messages-1' }
    const init = { key: house.gateway.liveKey, headers }
    const ask = (body: object) => house.gateway.post('/v1/messages', body, init)
    const first = (await (await ask(usual)).json()) as { id: string }
    const again = await ask(usual)
    expect(await again.json()).to.deep.equal(first)
    expect(again.headers.get('idempotent-replayed')).to.equal('true')
    const other = (await (await ask({ ...usual, max_tokens: 7 })).json()) as ErrorBody
    expect([other.type, other.error.type]).to.deep.equal(['error', 'conflict_error'])
  })

  it('refuse an adjusted request in strict mode only', async () => {
    house.upstreams.openai.answer(openAiDouble(() => ({ text: ['Hi.'] })))
    const body = { ...usual, top_k: 5 }
    const { warnings } = (await (await post(body)).json()) as { warnings: { param: string }[] }
    expect(warnings.map(({ param }) => param)).to.deep.equal(['top_k'])
    const headers = { 'x-gateway-strict': 'true' }
    const init = { key: house.gateway.liveKey, headers }
    const strict = await house.gateway.post('/v1/messages', body, init)
    expect(strict.status).to.equal(400)
    expect(((await strict.json()) as ErrorBody).error.details.param).to.equal('top_k')
  })
})

describe('a body that is too large for the gateway', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway({ file: { limits: { request_bytes_max: 1024 } } })
  })
  after(() => gateway.stop())

  it('is refused by the Messages API with request_too_large', async () => {
    const client = anthropicClient(gateway, gateway.testKey)
    const content = 'x'.repeat(2000)
    const error: unknown = await client.messages
      .create({ ...usual, messages: [{ role: 'user', content }] })
      .catch((thrown: unknown) => thrown)
    expect(error).to.include({ status: 413, type: 'request_too_large' })
  })
})
