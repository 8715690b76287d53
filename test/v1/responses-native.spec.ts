import { expect } from 'chai'
import type OpenAI from 'openai'
import { anthropicDouble } from '../support/anthropic-upstream.ts'
import { startVendorGateway, type VendorGateway } from '../support/chat-vendors.ts'
import { codex } from '../support/codex-requests.ts'
import { openAiClient } from '../support/openai-client.ts'
import { openAiDouble } from '../support/openai-upstream.ts'
import { checkResponseEvents } from '../support/response-events.ts'
import { encryptedFor } from '../support/responses-schema.ts'
import { eventText, responseEvents } from '../support/responses-upstream.ts'
import type { Spoken } from '../support/spoken.ts'

type Body = Record<string, unknown>
type Item = Body & { type: string; encrypted_content?: string }
type Create = OpenAI.Responses.ResponseCreateParamsNonStreaming
type Response = { output: Item[]; usage: Body; warnings?: { param: string }[]; status: string }

const model = 'gpt-6.1-sol'
const runs: Spoken = {
  reasoning: ['I look.'],
  calls: [{ id: 'call_1', name: 'functions__run', args: { a: 1 } }],
  end: 'tool_calls',
  counts: { input: 30, output: 9, cached: 8, written: 4, reasoning: 3 },
}
const says: Spoken = { text: ['It is ', '"sequence_number":7', ' “warm”.'] }
const result = {
  type: 'custom_tool_call_output',
  id: 'ctco_9',
  call_id: 'call_1',
  output: [{ type: 'input_text', text: 'a b' }],
}

describe('a request of the Responses API to a model of OpenAI that was made for it', () => {
  let house: VendorGateway
  let client: OpenAI
  before(async () => {
    house = await startVendorGateway()
    client = openAiClient(house.gateway, house.gateway.liveKey)
  })
  after(() => house.stop())

  const answers = (spoken: Spoken) => house.upstreams.openai.answer(openAiDouble(() => spoken))
  const post = (body: object, headers: Record<string, string> = {}) =>
    house.gateway.post('/v1/responses', body, { key: house.gateway.liveKey, headers })
  const streamOf = async (body: object) => {
    const text = await (await post({ ...body, stream: true })).text()
    const { response } = checkResponseEvents(text)
    return { text, response: response as unknown as Response }
  }
  const wholeOf = async (body: object, headers?: Record<string, string>) => {
    const response = await post({ ...body, stream: false }, headers)
    const text = await response.text()
    expect(response.status, text).to.equal(200)
    return JSON.parse(text) as Response
  }
  const sent = () => house.upstreams.openai.requests.map(({ path, body }) => [path, body] as const)
  const lastRow = async () => (await house.gateway.usage()).at(-1)!

  it('is sent verbatim, with the reasoning of the vendor', async () => {
    const asked = codex(model)
    for (const stream of [true, false]) {
      answers(runs)
      const response = stream ? (await streamOf(asked)).response : await wholeOf(asked)
      const { output, warnings } = response
      expect(sent().at(-1)).to.deep.equal(['/responses', { ...asked, stream }])
      expect(warnings).to.equal(undefined)
      expect(output.map(({ type }) => type)).to.deep.equal(['reasoning', 'custom_tool_call'])
      expect(output[1]).to.include({ name: 'run', namespace: 'functions', input: '{"a":1}' })
      const [thought] = output
      expect(thought!.encrypted_content).to.match(/^gw1\./)
      answers(says)
      const input = [...asked.input, ...output, result]
      await streamOf({ ...asked, input })
      const own = { ...thought, encrypted_content: encryptedFor(String(thought!['id'])) }
      const whole = [...asked.input, own, output[1], result]
      expect(JSON.stringify((sent().at(-1)![1] as Body)['input'])).to.equal(JSON.stringify(whole))
    }
  })

  it('gets the events of the vendor, with numbers, id and cost of the gateway', async () => {
    answers(says)
    const { text, response } = await streamOf(codex(model))
    for (const event of responseEvents(says, codex(model))) {
      const isPiece = /^event: response\.\w+\./.test(event)
      if (isPiece) expect(text).to.contain(event)
    }
    expect(text).not.to.contain('resp_up')
    const { cost_nano_usd: nanoUsd } = await lastRow()
    expect(response.usage['cost']).to.equal(Number(nanoUsd) / 1e9)
    expect(response.output).to.have.length(1)
  })

  it('is answered with what the gateway stores and continues', async () => {
    answers(runs)
    const input = codex(model).input as OpenAI.Responses.ResponseInput
    const first = await client.responses.create({ model, input })
    answers(says)
    const next = await client.responses.create({
      model,
      previous_response_id: first.id,
      input: [result as OpenAI.Responses.ResponseInputItem],
    })
    expect(next.output_text).to.equal(says.text!.join(''))
    const { input: items } = sent().at(-1)![1] as { input: Item[] }
    const thought = items.find(({ type }) => type === 'reasoning')
    const { id } = first.output[0]!
    expect(id).to.match(/^rs_[0-9a-f]{50}$/)
    expect(thought).to.include({ id, encrypted_content: encryptedFor(id!) })
    expect((await client.responses.retrieve(first.id)).output).to.deep.equal(first.output)
  })

  it('is continued by references to each of its items, as the AI SDK does', async () => {
    const ask = (body: object) => client.responses.create({ model, tools, ...body } as Create)
    const tools = [{ type: 'function', name: 'run', parameters: { type: 'object' }, strict: false }]
    const input: object[] = [{ role: 'user', content: 'List the boats.' }]
    for (const round of [1, 2, 3]) {
      answers({
        ...runs,
        text: [`Look ${round}.`],
        calls: [{ id: `call_${round}`, name: 'run', args: {} }],
      })
      const { output } = await ask({ input })
      expect(output.map(({ type }) => type)).to.deep.equal([
        'reasoning',
        'message',
        'function_call',
      ])
      for (const { id } of output) input.push({ type: 'item_reference', id })
      input.push({ type: 'function_call_output', call_id: `call_${round}`, output: 'a b' })
    }
    answers(says)
    expect((await ask({ input })).output_text).to.equal(says.text!.join(''))
    const { input: items } = sent().at(-1)![1] as { input: Item[] }
    expect(items).to.have.length(1 + 3 * 4)
    expect(items.some(({ type }) => type === 'item_reference')).to.equal(false)
  })

  it('has no reasoning that another account or gateway sealed', async () => {
    answers(says)
    const asked = codex(model)
    const foreign = { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'gAAAA-rs_2' }
    const { warnings = [] } = await wholeOf({ ...asked, input: [...asked.input, foreign] })
    expect(warnings.map(({ param }) => param)).to.deep.equal(['input[3].encrypted_content'])
    expect(sent().at(-1)![1]).to.deep.equal({ ...asked, stream: false })
  })

  it('can change its settings in an item, as Codex does, also for models of other vendors', async () => {
    answers(says)
    const asked = codex(model)
    const update = { type: 'configuration_update', reasoning: { effort: 'high' } }
    const input = [...asked.input, update]
    await wholeOf({ ...asked, input })
    expect(sent().at(-1)![1]).to.deep.equal({ ...asked, input, stream: false })
    house.upstreams.anthropic.answer(anthropicDouble(() => says))
    const schema = { type: 'object', properties: {}, additionalProperties: false }
    const text = { format: { type: 'json_schema', name: 'boats', schema } }
    await wholeOf({ ...asked, model: 'claude-sonnet-4-6', input: [...input, { ...update, text }] })
    const { output_config } = house.upstreams.anthropic.requests.at(-1)!.body as Body
    expect(output_config).to.deep.include({ effort: 'high' }).and.to.have.property('format')
  })

  it('is translated if the vendor refuses it', async () => {
    answers(says)
    const asked = { ...codex(model), reasoning: { effort: 'minimal' } }
    const before = sent().length
    const { warnings = [] } = await wholeOf(asked)
    expect(warnings.map(({ param }) => param)).to.include('reasoning.effort')
    const bodies = sent().slice(before)
    expect(bodies).to.have.length(2)
    expect(bodies[1]![1]).to.have.nested.property('tools[0].name', 'functions__run')
    const strict = await post({ ...asked, stream: false }, { 'x-gateway-strict': 'true' })
    expect(strict.status).to.equal(400)
    expect(sent()).to.have.length(before + 3)
  })

  it('has a price without the adjustments of its translation, also in strict mode', async () => {
    const request = { ...codex(model), reasoning: { effort: 'minimal' } }
    const body = { operation: 'createResponse', request }
    const headers = { 'x-gateway-strict': 'true' }
    const key = house.gateway.liveKey
    const response = await house.gateway.post('/v1/prices', body, { key, headers })
    expect(response.status).to.equal(200)
    const { routes } = (await response.json()) as { routes: { provider: string; warnings: [] }[] }
    const [{ provider, warnings }] = routes as [(typeof routes)[0]]
    expect({ provider, warnings }).to.deep.equal({ provider: 'openai', warnings: [] })
  })

  it('ends with the error of the vendor, and is paid so far', async () => {
    const events = responseEvents(says, { model })
    const cut = events.findIndex((event) => event.includes('output_text.delta')) + 1
    const error = { code: 'server_error', message: 'It broke.' }
    const failed = { id: 'resp_up', status: 'failed', error, output: [] }
    house.upstreams.openai.answer({
      pieces: [...events.slice(0, cut), eventText({ type: 'response.failed', response: failed })],
    })
    const text = await (await post(codex(model))).text()
    expect(text).to.match(/event: error\ndata: .*"server_error"/)
    expect(text).to.match(/event: response.failed\ndata: .*"status":"failed"/)
    expect((await lastRow()).output_tokens).to.be.greaterThan(0)
  })
})
