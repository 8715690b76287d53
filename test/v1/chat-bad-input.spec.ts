import { expect } from 'chai'
import { chatVendors, startVendorGateway, type VendorGateway } from '../support/chat-vendors.ts'
import { pdf } from '../support/chat-wire.ts'
import { expectError } from '../support/expect-error.ts'
import { pixel } from '../support/pixel.ts'

const hello = [{ role: 'user', content: 'Hello' }]
const said = (part: object) => [{ role: 'user', content: [part] }]
const seen = said({ type: 'image_url', image_url: { url: pixel } })
const many = Array.from({ length: 2000 }, (_, turn) => ({
  role: turn % 2 === 0 ? 'user' : 'assistant',
  content: `Turn ${turn}.`,
}))
const megabytes = (count: number) => [{ role: 'user', content: 'word '.repeat(count * 209_715) }]
const format = (schema: unknown) => ({
  type: 'json_schema',
  json_schema: { name: 'it', schema },
})
const seven = 'response_format.json_schema.schema'

type Row = { name: string; body: object; param: string; code: string }
const mismatch = 'model_capability_mismatch'
const value = 'invalid_value'

const rows: Row[] = [
  { name: 'no messages', body: { messages: [] }, param: 'messages', code: value },
  {
    name: 'a result without its call',
    body: { messages: [...hello, { role: 'tool', tool_call_id: 'call_9', content: 'x' }] },
    param: 'messages[1].tool_call_id',
    code: value,
  },
  {
    name: 'a deprecated function result without its call',
    body: { messages: [...hello, { role: 'function', name: 'weather', content: 'x' }] },
    param: 'messages[1].name',
    code: value,
  },
  {
    name: 'an audio answer of a model without audio output',
    body: { messages: hello, modalities: ['text', 'audio'] },
    param: 'modalities',
    code: mismatch,
  },
  {
    name: 'an unknown role',
    body: { messages: [{ role: 'boss', content: 'x' }] },
    param: 'messages[0].role',
    code: value,
  },
  {
    name: 'a schema of an unknown type',
    body: { messages: hello, response_format: format({ type: 'text' }) },
    param: seven,
    code: value,
  },
  {
    name: 'a schema with invalid members',
    body: {
      messages: hello,
      response_format: format({ type: 'object', properties: { a: { anyOf: [] } } }),
    },
    param: seven,
    code: value,
  },
  {
    name: 'an image for a model that cannot see',
    body: { model: 'blind', messages: seen },
    param: 'messages[0].content[0]',
    code: mismatch,
  },
  {
    name: 'a document for a model that reads only text',
    body: { model: 'blind', messages: said({ type: 'file', file: { file_data: pdf } }) },
    param: 'messages[0].content[0]',
    code: mismatch,
  },
  {
    name: 'a recording for a model that cannot hear',
    body: {
      model: 'claude-sonnet-4-6',
      messages: said({ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }),
    },
    param: 'messages[0].content[0]',
    code: mismatch,
  },
  {
    name: 'a file id of another vendor',
    body: {
      model: 'gemini-3.5-flash',
      messages: said({ type: 'file', file: { file_id: 'file-1' } }),
    },
    param: 'messages[0].content[0].file.file_data',
    code: value,
  },
  {
    name: 'a recording without a format',
    body: { messages: said({ type: 'input_audio', input_audio: { data: 'UklGRg==' } }) },
    param: 'messages[0].content[0].input_audio.format',
    code: 'missing_required_parameter',
  },
  {
    name: 'a recording that is empty',
    body: { messages: said({ type: 'input_audio', input_audio: { data: '', format: 'wav' } }) },
    param: 'messages[0].content[0].input_audio.data',
    code: value,
  },
  {
    name: 'more tokens than the model writes',
    body: { model: 'gpt-4.1', messages: hello, max_tokens: 40_000 },
    param: 'max_tokens',
    code: value,
  },
  {
    name: 'more tokens than the model writes, by their new name',
    body: { model: 'claude-haiku-4-5', messages: hello, max_completion_tokens: 64_001 },
    param: 'max_completion_tokens',
    code: value,
  },
  {
    name: 'a conversation that is too long',
    body: { model: 'claude-haiku-4-5', messages: megabytes(3) },
    param: 'messages',
    code: 'context_length_exceeded',
  },
  {
    name: 'five answers of a model that gives one',
    body: { model: 'claude-sonnet-4-6', messages: hello, n: 5 },
    param: 'n',
    code: mismatch,
  },
]

describe('an invalid conversation', () => {
  let house: VendorGateway
  before(async () => {
    // Adds a model without image input, because all three models accept images.
    house = await startVendorGateway({
      aliases: { blind: 'groq/llama-3.1-8b-instant' },
      routes: { 'groq/llama-3.1-8b-instant': ['openai/llama'] },
    })
  })
  after(() => house.stop())

  const post = (body: object, headers: Record<string, string> = {}) =>
    house.gateway.post(
      '/v1/chat/completions',
      { model: 'gpt-4.1', ...body },
      { key: house.gateway.liveKey, headers },
    )

  for (const { name, body, param, code } of rows) {
    it(`is refused for ${name}, before any provider is called`, async () => {
      await expectError(await post(body), { status: 400, code, param })
      for (const { requests } of Object.values(house.upstreams)) expect(requests).to.have.length(0)
      expect(await house.gateway.usage()).to.have.length(0)
    })
  }

  it('is refused with the only valid value', async () => {
    const response = await post({ messages: hello, cache_control: { type: 'forever' } })
    const param = 'cache_control.type'
    const error = await expectError(response, { status: 400, code: value, param })
    expect(error.message).to.equal(`'cache_control.type' must be ephemeral; it is "forever".`)
  })

  it('is refused by a test key for the same reasons', async () => {
    const body = { model: 'claude-sonnet-4-6', messages: hello, n: 5 }
    const response = await house.gateway.post('/v1/chat/completions', body)
    await expectError(response, { status: 400, code: mismatch, param: 'n' })
  })

  it('is refused in strict mode for a value that would be adjusted', async () => {
    const body = { model: 'claude-sonnet-4-6', messages: hello, temperature: 1.5, seed: 1 }
    const response = await post(body, { 'x-gateway-strict': 'true' })
    const error = await expectError(response, { status: 400, code: 'unsupported_parameter' })
    expect(error.message).to.contain('temperature').and.contain('no such parameter')
  })
})

describe('a large conversation', () => {
  let house: VendorGateway
  before(async () => {
    house = await startVendorGateway()
  })
  after(() => house.stop())

  for (const { id, model, double } of chatVendors) {
    for (const [what, messages] of [
      ['of 2,000 messages', many.slice(0, 1999)],
      ['with a message of 3 MiB', megabytes(3)],
    ] as const) {
      it(`${what} reaches ${id} unchanged`, async () => {
        house.upstreams[id].answer(double(() => ({ text: ['Yes.'] })))
        const response = await house.gateway.post(
          '/v1/chat/completions',
          { model, messages },
          { key: house.gateway.liveKey },
        )
        expect(response.status, (await response.clone().text()).slice(0, 300)).to.equal(200)
        const [request] = house.upstreams[id].requests
        expect(request!.bytes.length).to.be.greaterThan(JSON.stringify(messages).length - 2)
      })
    }

    it(`with a message of 12 MiB is too long for ${id}`, async () => {
      const response = await house.gateway.post(
        '/v1/chat/completions',
        { model, messages: megabytes(12) },
        { key: house.gateway.liveKey },
      )
      const tooLong = { code: 'context_length_exceeded', param: 'messages' }
      await expectError(response, { status: 400, ...tooLong })
    })
  }

  it('reports adjustments in the body and the header', async () => {
    house.upstreams.anthropic.answer(chatVendors[1]!.double(() => ({ text: ['Yes.'] })))
    for (const stream of [false, true]) {
      const response = await house.gateway.post(
        '/v1/chat/completions',
        {
          model: 'claude-sonnet-4-6',
          messages: hello,
          temperature: 1.5,
          seed: 7,
          stream,
          ...(stream ? { stream_options: { include_usage: true } } : {}),
        },
        { key: house.gateway.liveKey },
      )
      expect(response.headers.get('x-gateway-warnings')).to.equal('2')
      expect(await response.text()).to.contain('"param":"seed","requested":7,"applied":null')
    }
  })
})
