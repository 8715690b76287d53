import { expect } from 'chai'
import type OpenAI from 'openai'
import { ended } from '../support/background.ts'
import { setBudgetOfKey } from '../support/budgets.ts'
import { chatVendors } from '../support/chat-vendors.ts'
import { codex } from '../support/codex-requests.ts'
import {
  counts,
  list,
  says,
  startCompactions,
  summary,
  talk,
  trigger,
  user,
} from '../support/compaction.ts'
import { openAiClient } from '../support/openai-client.ts'
import { openAiDouble } from '../support/openai-upstream.ts'
import { checkResponseEvents } from '../support/response-events.ts'

type Body = Record<string, unknown>

const native = 'gpt-6.1-sol'
const other = 'claude-sonnet-4-6'

describe('a compaction of a conversation', () => {
  let house: Awaited<ReturnType<typeof startCompactions>>
  let client: OpenAI
  before(async () => {
    house = await startCompactions()
    client = openAiClient(house.gateway, house.gateway.liveKey)
  })
  after(() => house.stop())

  beforeEach(() => house.answers(says))

  for (const { id, model } of chatVendors) {
    it(`is a summary of ${model}, which another model continues from`, async () => {
      const output = await house.compacted(model)
      expect(output).to.have.length(1)
      const [item] = output
      expect(item).to.include({ type: 'compaction' })
      expect(item!.id).to.match(/^cmp_[0-9a-f]{33}$/)
      const asked = JSON.stringify(house.lastSent(id))
      expect(asked).to.contain('Ann, Bea').and.to.contain('Summarize the whole conversation')
      for (const next of chatVendors) {
        house.answers(counts)
        const input = [user('Count the boats.'), ...output, user('How many?')]
        const { output_text: text } = await client.responses.create({
          model: next.model,
          input: input as OpenAI.Responses.ResponseInput,
        })
        expect(text).to.equal('Two.')
        const sent = JSON.stringify(house.lastSent(next.id))
        expect(sent).to.contain(summary).and.not.to.contain('compaction')
      }
    })
  }

  it('is streamed as one item, by which clients continue', async () => {
    for (const model of [native, other]) {
      house.answers(says)
      const body = { ...codex(model), input: [...codex(model).input, ...talk, trigger] }
      const text = await (await house.post(body)).text()
      const { response, types } = checkResponseEvents(text)
      expect(response.status).to.equal('completed')
      expect(response.output.map(({ type }) => type)).to.deep.equal(['compaction'])
      expect(types.filter((type) => type === 'response.output_item.done')).to.have.length(1)
      expect(response.usage['total_tokens']).to.be.greaterThan(0)
      house.answers(counts)
      const next = { ...body, input: [...codex(model).input, ...response.output], stream: true }
      expect(await (await house.post(next)).text()).to.contain('Two.')
    }
  })

  it("is OpenAI's own for a model that get requests verbatim, signed for the account", async () => {
    const asked = { ...codex(native), stream: false }
    const [item] = await house.compacted(native, {
      ...asked,
      input: [...asked.input, ...talk, trigger],
    })
    expect(house.lastSent('openai')['input']).to.deep.equal([...asked.input, ...talk, trigger])
    const { id } = item!
    expect(item).to.include({ type: 'compaction' })
    expect(id).to.match(/^cmp_[0-9a-f]{50}$/)
    expect(item!.encrypted_content).to.match(/^gw1\./)
    house.answers(counts)
    await house.created({ ...asked, input: [...asked.input, item] })
    const own = { type: 'compaction', id, encrypted_content: `gAAAA-${id}` }
    expect(house.lastSent('openai')['input']).to.deep.equal([...asked.input, own])
  })

  it('by a summary is read by a model that get requests verbatim', async () => {
    const output = await house.compacted(other)
    house.answers(counts)
    await house.created({ model: native, input: [...output, user('How many?')] })
    const [message] = house.lastSent('openai')['input'] as Body[]
    expect(message).to.include({ type: 'message', role: 'user' })
    expect(message!['content']).to.contain(summary)
  })

  it('is a summary where OpenAI refuses its own, except in strict mode', async () => {
    const double = openAiDouble(() => says)
    house.upstreams.openai.answer((request) => {
      const { input } = request.body as { input: Body[] }
      if (input.at(-1)!['type'] !== 'compaction_trigger') return double(request)
      const message = "Invalid value: 'compaction_trigger'."
      return { status: 400, body: { error: { message, type: 'invalid_request_error' } } }
    })
    const [item] = await house.compacted(native)
    expect(item!.id).to.match(/^cmp_[0-9a-f]{33}$/)
    const headers = { 'x-gateway-strict': 'true' }
    const strict = await house.post(
      { model: native, input: [...talk, trigger], tools: [list] },
      { headers },
    )
    expect(strict.status).to.equal(400)
    house.answers(counts)
    await house.created({ model: other, input: [item, user('How many?')] })
    expect(JSON.stringify(house.lastSent('anthropic'))).to.contain(summary)
  })

  it('replaces what came before it, except the messages of the user and of instructions', async () => {
    const [item] = await house.compacted(other)
    house.answers(counts)
    const developer = { role: 'developer', content: 'Be brief.' }
    const input = [developer, ...talk, { role: 'assistant', content: 'I see some.' }, item]
    await house.created({ model: other, input: [...input, user('How many?')], tools: [list] })
    const sent = JSON.stringify(house.lastSent('anthropic'))
    expect(sent).to.contain('Be brief.').and.to.contain('Count the boats.').and.to.contain(summary)
    expect(sent).not.to.contain('call_1')
    expect(sent).not.to.contain('I see some.')
  })

  it('keeps the newest 256,000 characters of the user', async () => {
    const [item] = await house.compacted(other)
    house.answers(counts)
    const [old, recent] = ['o'.repeat(200_000), 'r'.repeat(200_000)]
    await house.created({ model: other, input: [user(old), user(recent), item, user('How many?')] })
    const sent = JSON.stringify(house.lastSent('anthropic'))
    expect(sent).to.contain(recent).and.not.to.contain(old)
  })

  for (const model of [native, other]) {
    it(`of a stored response of ${model} shortens the conversation that continues it`, async () => {
      house.answers({ calls: [{ id: 'call_9', name: 'list', args: {} }], end: 'tool_calls' })
      const first = await house.created({ model, input: 'Count the boats.', tools: [list] })
      const { call_id } = first.output.at(-1) as Body
      house.answers(says)
      const output = { type: 'function_call_output', call_id, output: 'Ann, Bea' }
      const second = await house.created({
        model,
        previous_response_id: first.id,
        input: [output, trigger],
        tools: [list],
      })
      expect(second).to.include({ store: true, status: 'completed' })
      const { data } = await client.responses.inputItems.list(second.id, { order: 'asc' })
      expect(data.map(({ type }) => type as string)).not.to.include('compaction_trigger')
      house.answers(counts)
      const third = await house.created({
        model,
        previous_response_id: second.id,
        input: 'How many?',
      })
      const sent = JSON.stringify(house.lastSent(model === native ? 'openai' : 'anthropic'))
      expect(sent).to.contain('Count the boats.').and.not.to.contain('Ann, Bea"')
      const items = (await client.responses.inputItems.list(third.id, { order: 'asc' })).data
      expect(items.map(({ type }) => type as string)).to.deep.equal([
        'message',
        'compaction',
        'message',
      ])
      const reference = { type: 'item_reference', id: second.output[0]!.id }
      await house.created({ model, input: [reference, user('How many?')] })
    })
  }

  it('is made in the background', async () => {
    const body = { model: other, input: [...talk, trigger], tools: [list], background: true }
    const { id, status } = await house.created(body)
    expect(status).to.equal('in_progress')
    const { output } = await ended(house.gateway, id)
    expect(output.map(({ type }) => type as string)).to.deep.equal(['compaction'])
  })

  it('is a call like any other: recorded, priced and within the budget', async () => {
    const before = (await house.gateway.usage()).length
    const body = { model: other, input: [...talk, trigger], tools: [list] }
    const { usage } = await house.created(body)
    const rows = (await house.gateway.usage()).slice(before)
    expect(rows).to.have.length(1)
    expect(usage['cost'])
      .to.equal(Number(rows[0]!.cost_nano_usd) / 1e9)
      .and.above(0)
    const key = await house.gateway.createKey('live')
    await setBudgetOfKey(house.gateway, key, { nanoUsd: 1000, period: 'total' })
    const sent = house.sentCount()
    const error = (await (await house.post(body, { key })).json()) as { error: Body }
    expect(error.error['code']).to.equal('insufficient_quota')
    expect(house.sentCount()).to.equal(sent)
  })

  it('calls no tools, and has no format of its own', async () => {
    const tools = [list, { type: 'image_generation' }, { type: 'web_search' }]
    const text = { format: { type: 'json_schema', name: 'a', schema: { type: 'object' } } }
    const output = await house.compacted(other, { tools, text, tool_choice: 'required' })
    expect(output.map(({ type }) => type)).to.deep.equal(['compaction'])
    const sent = house.lastSent('anthropic')
    expect(sent['tool_choice']).to.deep.equal({ type: 'none' })
    expect(sent).not.to.have.property('output_config')
    await house.compacted(native, { tools, text })
    expect((house.lastSent('openai')['tools'] as Body[]).map(({ type }) => type)).to.deep.equal([
      'function',
    ])
  })
})
