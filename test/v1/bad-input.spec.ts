import { expect } from 'chai'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'

type Row = {
  name: string
  body: unknown
  status?: number
  code: string
  param?: string | null
  says?: string | RegExp
}

const fox = { prompt: 'a fox' }
const hello = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'hello' }] }
const part = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
const user = (content: unknown) => ({ ...hello, messages: [{ role: 'user', content }] })
const tool = (definition: object) => ({
  ...hello,
  tools: [{ type: 'function', function: definition }],
})

describe('bad input', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  const refuses = (path: string, rows: Row[]) => {
    for (const { name, body, status = 400, code, param, says } of rows) {
      it(`${path} refuses ${name}`, async () => {
        const before = (await gateway.usage()).length
        const response = await gateway.post(path, body)
        const expected = { status, code, type: 'invalid_request_error' }
        const error = await expectError(
          response,
          param === undefined ? expected : { ...expected, param },
        )
        if (says !== undefined) expect(error.message).to.match(new RegExp(says))
        expect(await gateway.usage()).to.have.length(before)
      })
    }
  }

  refuses('/v1/images/generations', [
    { name: 'a body that is not an object', body: [], code: 'invalid_value', param: null },
    { name: 'null', body: null, code: 'invalid_value', param: null },
    { name: 'a bare number', body: 3, code: 'invalid_value', param: null },
    { name: 'no prompt', body: {}, code: 'missing_required_parameter', param: 'prompt' },
    { name: 'an empty prompt', body: { prompt: '' }, code: 'invalid_value', param: 'prompt' },
    { name: 'a blank prompt', body: { prompt: ' \n\t' }, code: 'invalid_value', param: 'prompt' },
    {
      name: 'a prompt that is a number',
      body: { prompt: 7 },
      code: 'invalid_value',
      param: 'prompt',
    },
    { name: 'n of 0', body: { ...fox, n: 0 }, code: 'invalid_value', param: 'n' },
    { name: 'n of 11', body: { ...fox, n: 11 }, code: 'invalid_value', param: 'n' },
    { name: 'n of 1.5', body: { ...fox, n: 1.5 }, code: 'invalid_value', param: 'n' },
    { name: 'n as a text', body: { ...fox, n: '1' }, code: 'invalid_value', param: 'n' },
    {
      name: 'URLs as the response format',
      body: { ...fox, response_format: 'url' },
      code: 'unsupported_value',
      param: 'response_format',
    },
    {
      name: 'an unknown parameter',
      body: { ...fox, steps: 20 },
      code: 'unknown_parameter',
      param: 'steps',
    },
    { name: 'a mask', body: { ...fox, mask: 'x' }, code: 'unknown_parameter', param: 'mask' },
    {
      name: 'partial images without a stream',
      body: { ...fox, partial_images: 2 },
      code: 'invalid_value',
      param: 'partial_images',
    },
    {
      name: 'a key called __proto__',
      body: JSON.parse('{"prompt":"a fox","__proto__":{"n":3}}'),
      code: 'unknown_parameter',
      param: '__proto__',
    },
    {
      name: 'a malformed size',
      body: { ...fox, size: '1024' },
      code: 'invalid_value',
      param: 'size',
    },
    { name: 'a size of 0', body: { ...fox, size: '0x512' }, code: 'invalid_value', param: 'size' },
    {
      name: 'a size that the model cannot make',
      body: { ...fox, model: 'zai/cogview-4', size: '9000x9000' },
      code: 'invalid_value',
      param: 'size',
      says: '1024x1024',
    },
    {
      name: 'a quality that the model does not have',
      body: { ...fox, model: 'zai/cogview-4', quality: 'low' },
      code: 'invalid_value',
      param: 'quality',
      says: /standard.*hd/,
    },
    {
      name: 'an unknown style',
      body: { ...fox, style: 'noir' },
      code: 'invalid_value',
      param: 'style',
    },
    {
      name: 'a compression of 101',
      body: { ...fox, output_format: 'webp', output_compression: 101 },
      code: 'invalid_value',
      param: 'output_compression',
    },
    {
      name: 'a model that does not exist',
      body: { ...fox, model: 'dall-e-9' },
      status: 404,
      code: 'model_not_found',
      param: 'model',
    },
    {
      name: 'a language model',
      body: { ...fox, model: 'gpt-5-mini' },
      code: 'model_capability_mismatch',
      param: 'model',
    },
    {
      name: 'a model that was shut down',
      body: { ...fox, model: 'gpt-image-1' },
      status: 410,
      code: 'model_deactivated',
      param: 'model',
    },
  ])

  refuses('/v1/chat/completions', [
    {
      name: 'no model',
      body: { messages: [] },
      code: 'missing_required_parameter',
      param: 'model',
    },
    {
      name: 'a flag in quotes',
      body: { ...hello, stream: 'true' },
      code: 'invalid_value',
      param: 'stream',
      says: /^'stream' must be a boolean, not "true"\. Send true without quotes\.$/,
    },
    {
      name: 'messages that are one text',
      body: { ...hello, messages: 'hello' },
      code: 'invalid_value',
      param: 'messages',
      says: /^'messages' must be an array, not "hello"\. For example: \[\{"role":"user","content":"Hello\."\}\]$/,
    },
    {
      name: 'no messages',
      body: { model: 'gpt-5-mini' },
      code: 'missing_required_parameter',
      param: 'messages',
    },
    {
      name: 'an empty conversation',
      body: { ...hello, messages: [] },
      code: 'invalid_value',
      param: 'messages',
      says: '^.messages. must have at least 1 item\\. For example',
    },
    {
      name: 'a message without a role',
      body: { ...hello, messages: [{ content: 'x' }] },
      code: 'missing_required_parameter',
      param: 'messages[0].role',
    },
    {
      name: 'an unknown role',
      body: {
        ...hello,
        messages: [
          { role: 'user', content: 'x' },
          { role: 'owl', content: 'x' },
        ],
      },
      code: 'invalid_value',
      param: 'messages[1].role',
      says: 'must be one of: system, developer, user, assistant, tool, function; it is "\\w+"\\.$',
    },
    {
      name: 'content that is a number',
      body: user(7),
      code: 'invalid_value',
      param: 'messages[0].content',
    },
    {
      name: 'a part of an unknown type',
      body: user([{ type: 'smell', smell: 'rose' }]),
      code: 'invalid_value',
      param: 'messages[0].content[0].type',
    },
    {
      name: 'a picture without an address',
      body: user([{ ...part, image_url: {} }]),
      code: 'missing_required_parameter',
      param: 'messages[0].content[0].image_url.url',
    },
    {
      name: 'a tool result without a call id',
      body: { ...hello, messages: [{ role: 'tool', content: 'x' }] },
      code: 'missing_required_parameter',
      param: 'messages[0].tool_call_id',
    },
    {
      name: 'a temperature of 2.1',
      body: { ...hello, temperature: 2.1 },
      code: 'invalid_value',
      param: 'temperature',
    },
    {
      name: 'max_tokens of 0',
      body: { ...hello, max_tokens: 0 },
      code: 'invalid_value',
      param: 'max_tokens',
    },
    {
      name: 'five stop texts',
      body: { ...hello, stop: ['a', 'b', 'c', 'd', 'e'] },
      code: 'invalid_value',
      param: 'stop',
    },
    {
      name: 'stream as a text',
      body: { ...hello, stream: 'true' },
      code: 'invalid_value',
      param: 'stream',
    },
    {
      name: 'a tool with a space in its name',
      body: tool({ name: 'my tool' }),
      code: 'invalid_value',
      param: 'tools[0].function.name',
      says: 'is malformed: "[^"]+"\\. Expected: 1 to 128 letters',
    },
    {
      name: 'an unknown response format',
      body: { ...hello, response_format: { type: 'yaml' } },
      code: 'invalid_value',
      param: 'response_format.type',
    },
    {
      name: 'nine models to fall back on',
      body: { ...hello, models: Array(9).fill('gpt-5') },
      code: 'invalid_value',
      param: 'models',
    },
    {
      name: 'an option that the image model does not have',
      body: { ...hello, model: 'alibaba/qwen-image-plus', image_config: { aspect_ratio: '1:1' } },
      code: 'unknown_parameter',
      param: 'image_config.aspect_ratio',
    },
    {
      name: 'more pictures than the image model takes',
      body: { ...hello, model: 'alibaba/qwen-image-plus', image_config: { n: 5 } },
      code: 'invalid_value',
      param: 'image_config.n',
    },
    {
      name: 'an image model without a prompt',
      body: { ...user(' '), model: 'alibaba/qwen-image-plus' },
      code: 'invalid_value',
      param: 'messages[0].content',
    },
    {
      name: 'a model of five million characters',
      body: { ...hello, model: 'a'.repeat(5_000_000) },
      code: 'invalid_value',
      param: 'model',
    },
    ...['__proto__', 'constructor', 'toString', '', '/'].map((model) => ({
      name: `the model ${JSON.stringify(model.slice(0, 20))}`,
      body: { ...hello, model },
      status: 404,
      code: 'model_not_found',
      param: 'model',
    })),
  ])

  it('does not prevent the next valid request', async () => {
    const response = await gateway.post('/v1/chat/completions', hello)
    expect(response.status).to.equal(200)
  })
})
