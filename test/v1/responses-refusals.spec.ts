import { expect } from 'chai'
import { startVendorGateway, type VendorGateway } from '../support/chat-vendors.ts'
import { pixel } from '../support/pixel.ts'

describe('requests to /v1/responses', () => {
  let house: VendorGateway
  before(async () => {
    house = await startVendorGateway()
  })
  after(() => house.stop())

  const post = (body: object) =>
    house.gateway.post('/v1/responses', body, { key: house.gateway.liveKey })

  const refusals: [string, object, string, RegExp][] = [
    [
      'a background response that is not stored',
      { background: true, store: false },
      'background',
      /must be stored/,
    ],
    ['a stream in the background', { background: true, stream: true }, 'stream', /poll with GET/],
    ['a conversation', { conversation: 'conv_1' }, 'conversation', /whole conversation/],
    ['truncation', { truncation: 'auto' }, 'truncation', /disabled/],
    ['a stored prompt', { prompt: { id: 'p' } }, 'prompt', /input/],
    ['a hosted tool', { tools: [{ type: 'file_search' }] }, 'tools[0].type', /run yourself/],
    [
      'web search',
      { model: 'gpt-4.1-mini', tools: [{ type: 'web_search' }] },
      'tools[0].type',
      /does not search the web.*has the price/,
    ],
    [
      'an unknown item',
      { input: [{ type: 'odd' }] },
      'input[0].type',
      /native requests take 'odd'/,
    ],
    [
      'a part of the chat API',
      { input: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] },
      'input[0].content[0].type',
      /send 'input_text'/,
    ],
    [
      'a picture in an assistant message',
      { input: [{ role: 'assistant', content: [{ type: 'input_image', image_url: pixel }] }] },
      'input[0].content[0].type',
      /output_text/,
    ],
    [
      'a result without its call',
      { input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] },
      'input[0]',
      /'c'/,
    ],
    ['a limit above the model’s', { max_output_tokens: 9e8 }, 'max_output_tokens', /at most/],
    [
      'a choice of no tool',
      { tool_choice: { type: 'function', name: 'x' } },
      'tool_choice.name',
      /'x'/,
    ],
    [
      'a schema that is none',
      { text: { format: { type: 'json_schema', name: 'n', schema: { type: 7 } } } },
      'text.format.schema',
      /JSON Schema/,
    ],
    ['no text', { input: ' ' }, 'input', /no content/],
    [
      'a file to fetch',
      { input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'https://a.b/c' }] }] },
      'input[0].content[0]',
      /Download the document and send it in base64/,
    ],
    ['an image model', { model: 'gemini-3-pro-image-preview' }, 'model', /images\/generations/],
  ]
  for (const [what, members, param, message] of refusals) {
    it(`are refused with ${what}`, async () => {
      const response = await post({ model: 'gpt-4.1', input: 'Hello', ...members })
      const { error } = (await response.json()) as { error: { param: string; message: string } }
      expect(response.status).to.equal(400)
      expect(error.param).to.equal(param)
      expect(error.message).to.match(message)
    })
  }

  it('need an input', async () => {
    const response = await post({ model: 'gpt-4.1', messages: [{ role: 'user', content: 'Hi' }] })
    const { error } = (await response.json()) as { error: { param: string; message: string } }
    expect(error).to.include({ param: 'input', code: 'missing_required_parameter' })
    expect(error.message).to.contain('/v1/chat/completions')
  })
})
