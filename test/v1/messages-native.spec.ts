import { expect } from 'chai'
import { anthropicEvents, message } from '../support/anthropic-answers.ts'
import { anthropicDouble } from '../support/anthropic-upstream.ts'
import { startVendorGateway, type VendorGateway } from '../support/chat-vendors.ts'
import { orderComplaints, readMessageEvents } from '../support/message-events.ts'
import { openAiDouble } from '../support/openai-upstream.ts'
import type { Spoken } from '../support/spoken.ts'

type Body = Record<string, unknown>
type Message = {
  content: Body[]
  stop_reason: string
  stop_sequence: string | null
  usage: Body
  warnings?: { param: string }[]
  context_management?: object
}

const model = 'claude-sonnet-4-6'
const asked = {
  model,
  max_tokens: 2048,
  thinking: { type: 'adaptive' },
  top_k: 5,
  context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
  messages: [{ role: 'user', content: 'How warm is it?' }],
}
const spoken: Spoken = {
  reasoning: ['I ', 'look.'],
  text: ['It is ', 'signature_delta', ' “warm” \u{1f31e}.'],
  counts: { input: 30, output: 9, cached: 8, written: 4, reasoning: 3 },
}
const beta = { 'anthropic-beta': 'context-management-2025-06-27' }

describe('a request of the Messages API to a model of Anthropic', () => {
  let house: VendorGateway
  before(async () => {
    house = await startVendorGateway({
      limits: { cache_ttl_seconds: 60, route_tries_max: 1 },
      routes: { [model]: ['anthropic/claude-sonnet-4-6', 'openai/gpt-4.1'] },
    })
  })
  after(() => house.stop())
  beforeEach(() => house.upstreams.anthropic.answer(anthropicDouble(() => spoken)))

  const post = (body: object, headers: Record<string, string> = {}) =>
    house.gateway.post('/v1/messages', body, {
      key: house.gateway.liveKey,
      headers: { 'cache-control': 'no-store', ...beta, ...headers },
    })
  const messageOf = async (body: object, headers?: Record<string, string>) => {
    const response = await post(body, headers)
    const text = await response.text()
    expect(response.status, text).to.equal(200)
    return JSON.parse(text) as Message
  }
  const streamOf = async (body: object, headers?: Record<string, string>) => {
    const text = await (await post({ ...body, stream: true }, headers)).text()
    const events = readMessageEvents(text)
    expect(orderComplaints(events)).to.deep.equal([])
    return { text, events }
  }
  const sent = () => house.upstreams.anthropic.requests.map(({ body }) => body as Body)
  const lastRow = async () => (await house.gateway.usage()).at(-1)!

  it('is sent verbatim, and loses nothing', async () => {
    const { warnings, content } = await messageOf(asked)
    expect(warnings).to.equal(undefined)
    expect(sent().at(-1)).to.deep.equal(asked)
    expect(content.map(({ type }) => type)).to.deep.equal(['thinking', 'text'])
    expect((await lastRow()).input_tokens).to.equal(30)
  })

  it('gets the events of the vendor verbatim, but its own id, cost and signature', async () => {
    const events = anthropicEvents(spoken, model)
    const { text, events: read } = await streamOf(asked)
    for (const event of events.filter((one) => /event: (content_block|ping)/.test(one))) {
      if (!event.includes('"signature_delta"')) expect(text).to.contain(event)
    }
    expect(text).not.to.contain('EqQB')
    expect(text).not.to.contain('"msg_01"')
    const [start] = read
    expect(start).to.have.nested.property('message.usage.input_tokens', 18)
    expect(start).to.have.nested.property('message.usage.cache_read_input_tokens', 8)
    const end = read.find(({ type }) => type === 'message_delta')!
    expect(end).to.have.nested.property('usage.output_tokens', 9)
    const { cost_nano_usd: nanoUsd } = await lastRow()
    expect(end).to.have.nested.property('usage.cost', Number(nanoUsd) / 1e9)
    const whole = await messageOf(asked)
    expect(whole.usage['cost']).to.equal(Number(nanoUsd) / 1e9)
  })

  it('gets what only Anthropic tells', async () => {
    const managed = {
      applied_edits: [{ type: 'clear_thinking_20251015', cleared_input_tokens: 5 }],
    }
    const told = {
      ...message(spoken, model),
      content: [
        { type: 'redacted_thinking', data: 'secret' },
        { type: 'text', text: 'Hm', citations: [{ type: 'char_location', cited_text: 'H' }] },
      ],
      stop_reason: 'stop_sequence',
      stop_sequence: 'END',
      context_management: managed,
    }
    house.upstreams.anthropic.answer({ body: told })
    const answer = await messageOf(asked)
    expect(answer).to.deep.include({ stop_reason: 'stop_sequence', stop_sequence: 'END' })
    expect(answer.context_management).to.deep.equal(managed)
    expect(answer.content[1]).to.deep.equal(told.content[1])
    const [hidden] = answer.content
    expect(hidden!['data']).to.match(/^gw1\./)
    house.upstreams.anthropic.answer(anthropicDouble(() => spoken))
    const messages = [
      ...asked.messages,
      { role: 'assistant', content: [hidden, { type: 'redacted_thinking', data: 'other' }] },
      { role: 'user', content: 'And?' },
    ]
    await messageOf({ ...asked, messages })
    const [, turn] = sent().at(-1)!['messages'] as { content: object }[]
    expect(turn!.content).to.deep.equal([{ type: 'redacted_thinking', data: 'secret' }])
  })

  it('is translated if the vendor refuses it, which the warnings tell', async () => {
    const before = sent().length
    const stale = { ...asked, top_k: 5, thinking: { type: 'between_tools' } }
    for (const stream of [false, true]) {
      const { warnings = [] } = stream
        ? ((await streamOf(stale)).events.find(
            ({ type }) => type === 'message_delta',
          ) as unknown as Message)
        : await messageOf(stale)
      const params = warnings.map(({ param }) => param)
      expect(params).to.include.members(['top_k', 'context_management'])
    }
    const [first, second] = sent().slice(before)
    expect(first!['thinking']).to.deep.equal({ type: 'between_tools' })
    expect(second!['thinking']).to.include({ type: 'adaptive' })
    expect(
      await (await post(stale, { 'x-gateway-strict': 'true' })).json(),
    ).to.have.nested.property('error.type', 'invalid_request_error')
    expect(sent()).to.have.length(before + 5)
  })

  it('is translated for another vendor', async () => {
    house.upstreams.anthropic.answer({ status: 500, body: {} })
    house.upstreams.openai.answer(openAiDouble(() => ({ text: ['Warm.'] })))
    const { thinking: _thinking, ...plain } = asked
    const { warnings = [], content } = await messageOf(plain)
    expect(content.at(-1)).to.deep.equal({ type: 'text', text: 'Warm.' })
    const params = warnings.map(({ param }) => param)
    expect(params).to.include.members(['top_k', 'context_management'])
    expect((await lastRow()).provider).to.equal('openai')
  })

  it('is translated if it asks for what has no price', async () => {
    const mark = { type: 'ephemeral', ttl: '1h' }
    const { warnings = [] } = await messageOf({ ...asked, cache_control: mark })
    expect(warnings.map(({ param }) => param)).to.include('cache_control.ttl')
    expect(sent().at(-1)!['cache_control']).to.deep.equal({ type: 'ephemeral' })
    const fast = await messageOf({ ...asked, speed: 'fast' })
    expect(fast.warnings!.map(({ param }) => param)).to.deep.equal(['speed'])
    expect(sent().at(-1)).to.deep.equal(asked)
    await messageOf(asked, { 'anthropic-beta': `fast-mode-2026-02-01, ${beta['anthropic-beta']}` })
    const { headers } = house.upstreams.anthropic.requests.at(-1)!
    expect(headers['anthropic-beta']).to.equal(beta['anthropic-beta'])
  })

  it('is answered from the cache with an id of its own', async () => {
    const cached = { 'cache-control': 'max-age=60' }
    for (const stream of [false, true]) {
      const before = sent().length
      const texts = []
      for (const turn of [1, 2]) {
        const response = await post({ ...asked, max_tokens: 999, stream }, cached)
        expect(response.headers.get('x-gateway-cache')).to.equal(turn === 1 ? 'miss' : 'hit')
        texts.push(await response.text())
      }
      const [first, second] = texts.map((text) =>
        /(?:"content":\[{|event: content).*"It is/s.exec(text),
      )
      expect(second![0]).to.equal(first![0])
      expect(texts[1]).not.to.equal(texts[0])
      expect(sent()).to.have.length(before + 1)
    }
    await messageOf({ ...asked, max_tokens: 999, top_k: 6 }, cached)
    expect(sent().at(-1)!['top_k']).to.equal(6)
  })

  it('pays for what a stream said before it broke off', async () => {
    const events = anthropicEvents(spoken, model)
    const cut = events.findIndex((event) => event.includes('text_delta')) + 1
    const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
    const error = `event: error\ndata: ${JSON.stringify(overloaded)}\n\n`
    house.upstreams.anthropic.answer({ pieces: [...events.slice(0, cut), error] })
    const text = await (await post({ ...asked, stream: true })).text()
    expect(text).to.match(/event: error\ndata: \{"type":"error"/)
    const row = await lastRow()
    expect(row).to.include({ input_tokens: 30 })
    expect(row.output_tokens).to.be.greaterThan(1)
    house.upstreams.anthropic.answer({ pieces: [events[0]!, error] })
    house.upstreams.openai.answer(openAiDouble(() => ({ text: ['Warm.'] })))
    const { thinking: _thinking, ...plain } = asked
    expect((await streamOf(plain)).text).to.contain('Warm.')
  })
})
