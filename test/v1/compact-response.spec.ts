import { expect } from 'chai'
import type OpenAI from 'openai'
import { chatVendors, startVendorGateway, type VendorGateway } from '../support/chat-vendors.ts'
import { expectError } from '../support/expect-error.ts'
import { openAiClient } from '../support/openai-client.ts'
import { pixel } from '../support/pixel.ts'
import type { Spoken } from '../support/spoken.ts'

type Body = Record<string, unknown>
type Input = OpenAI.Responses.ResponseInput

const native = 'gpt-6.1-sol'
const other = 'claude-sonnet-4-6'
const says: Spoken = { text: ['Two boats: Ann and Bea.'], counts: { input: 40, output: 6 } }
const user = (content: string) => ({ role: 'user' as const, content })
const talk = [
  { role: 'developer', content: 'Be brief.' },
  user('Count the boats.'),
  { type: 'function_call', call_id: 'call_1', name: 'list', arguments: '{}' },
  { type: 'function_call_output', call_id: 'call_1', output: 'Ann, Bea' },
  { role: 'assistant', content: 'Two.' },
] as Input
const kept = [
  { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Count the boats.' }] },
]

describe('POST /v1/responses/compact', () => {
  let house: VendorGateway
  let client: OpenAI
  before(async () => {
    house = await startVendorGateway()
    client = openAiClient(house.gateway, house.gateway.liveKey)
  })
  after(() => house.stop())
  const answers = (spoken: Spoken) => {
    for (const { id, double } of chatVendors) house.upstreams[id].answer(double(() => spoken))
  }
  beforeEach(() => answers(says))
  const post = (body: object) =>
    house.gateway.post('/v1/responses/compact', body, { key: house.gateway.liveKey })

  for (const model of [native, other, 'gemini-3-flash-preview', 'gpt-4.1']) {
    it(`returns a conversation with ${model} that it continues from`, async () => {
      const { output, ...answer } = await client.responses.compact({ model, input: talk })
      expect(answer).to.include({ object: 'response.compaction' })
      expect(answer.id).to.match(/^resp_[0-9a-f]{32}$/)
      expect(answer.usage).to.include({ input_tokens: 40, output_tokens: 6, total_tokens: 46 })
      const [row] = (await house.gateway.usage()).slice(-1)
      expect(answer.usage).to.include({ cost: Number(row!.cost_nano_usd) / 1e9 })
      const items = output.map(({ id, ...item }) => {
        expect(id).to.match(/^(msg|cmp)_\w{32,50}$/)
        return item
      })
      expect(items.slice(0, -1)).to.deep.equal(kept)
      expect(items.at(-1)).to.include({ type: 'compaction' })
      answers({ text: ['Two.'] })
      const input = [...(output as Input), user('How many?')]
      expect((await client.responses.create({ model, input })).output_text).to.equal('Two.')
      const again = await client.responses.compact({ model, input })
      expect(again.output.map(({ type }) => type)).to.deep.equal([
        'message',
        'message',
        'message',
        'compaction',
      ])
    })
  }

  it('compacts a stored response, and stores nothing itself', async () => {
    const first = await client.responses.create({ model: other, input: talk.slice(0, -1) })
    const { id, output } = await client.responses.compact({
      model: other,
      previous_response_id: first.id,
    })
    expect(output.map(({ type }) => type)).to.deep.equal(['message', 'message', 'compaction'])
    const found = await house.gateway.fetch(`/v1/responses/${id}`, { key: house.gateway.liveKey })
    expect(found.status).to.equal(404)
    const missing = { model: other, previous_response_id: 'resp_none' }
    const expected = { status: 404, code: 'not_found', param: 'previous_response_id' }
    await expectError(await post(missing), expected)
  })

  it('takes what Codex sends, an own trigger, and a picture', async () => {
    const image = { type: 'input_image', image_url: pixel, detail: 'auto' }
    const message = { type: 'message', role: 'user', content: [image] }
    const response = await post({
      model: other,
      instructions: 'You count boats.',
      input: [...talk, message, { type: 'compaction_trigger' }],
      tools: [{ type: 'function', name: 'list', strict: false, parameters: { type: 'object' } }],
      parallel_tool_calls: true,
      reasoning: { effort: 'low' },
      text: { verbosity: 'low' },
      prompt_cache_key: 'a',
      stream: false,
    })
    const { output } = (await response.json()) as { output: Body[] }
    expect(output.map(({ type }) => type)).to.deep.equal([
      'message',
      'message',
      'message',
      'compaction',
    ])
    expect(output[2]).to.deep.include({ content: [image] })
    const sent = JSON.stringify(house.upstreams.anthropic.requests.at(-1)!.body)
    expect(sent).to.contain('You count boats.').and.to.contain(pixel.split(',')[1])
  })

  const refused = [
    { name: 'no conversation', body: {}, code: 'missing_required_parameter', param: 'input' },
    {
      name: 'a stream',
      body: { input: 'Hi.', stream: true },
      code: 'unsupported_parameter',
      param: 'stream',
    },
    {
      name: 'the background',
      body: { input: 'Hi.', background: true },
      code: 'unsupported_parameter',
      param: 'background',
    },
    {
      name: 'a compaction of another origin',
      body: { input: [user('Hi.'), { type: 'compaction', encrypted_content: 'gAAAA' }] },
      code: 'invalid_value',
      param: 'input[1].encrypted_content',
    },
  ]
  for (const { name, body, code, param } of refused) {
    it(`refuses ${name}`, async () => {
      for (const model of [native, other]) {
        await expectError(await post({ model, ...body }), { status: 400, code, param })
      }
    })
  }

  it('reports members that it does not know', async () => {
    const response = await post({ model: other, input: 'Hi.', colour: 'red' })
    const { warnings } = (await response.json()) as { warnings: Body[] }
    expect(warnings.map(({ param }) => param)).to.deep.equal(['colour'])
  })
})
