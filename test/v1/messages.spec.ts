import { hash } from 'node:crypto'
import type Anthropic from '@anthropic-ai/sdk'
import { expect } from 'chai'
import { anthropicClient } from '../support/anthropic-client.ts'
import { chatVendors, startVendorGateway, type VendorGateway } from '../support/chat-vendors.ts'
import { pixel } from '../support/pixel.ts'
import { encryptedFor } from '../support/responses-schema.ts'
import type { Spoken } from '../support/spoken.ts'

type Body = Record<string, unknown>
type Asked = Anthropic.MessageCreateParamsNonStreaming

const question: Anthropic.MessageParam = { role: 'user', content: 'How warm is it in Rome?' }
const weather: Anthropic.Tool = {
  name: 'weather',
  description: 'The weather in a town.',
  input_schema: { type: 'object', properties: { town: { type: 'string' } } },
}
const schema = {
  type: 'object' as const,
  properties: { warm: { type: 'boolean' } },
  required: ['warm'],
  additionalProperties: false,
}
const callsTwice: Spoken = {
  reasoning: ['I ', 'look.'],
  text: ['One ', 'moment.'],
  calls: [
    { id: 'toolu_1', name: 'weather', args: { town: 'Rome' } },
    { id: 'toolu_2', name: 'weather', args: { town: 'Oslo "North"' } },
  ],
  end: 'tool_calls',
}

/** What the vendors' doubles sign their reasoning with. */
const carried: Readonly<Record<string, string>> = {
  'gpt-6.2-sol': encryptedFor('rs_'),
  'claude-sonnet-4-6': '"signature":"EqQB"',
  'gemini-3-flash-preview': '"thoughtSignature":',
}

describe("Anthropic's own client", () => {
  let house: VendorGateway
  let client: Anthropic
  before(async () => {
    house = await startVendorGateway()
    client = anthropicClient(house.gateway)
  })
  after(() => house.stop())

  const blocks = (message: Anthropic.Message) => message.content.map(({ type }) => type)
  const says = (id: keyof VendorGateway['upstreams'], say: (body: Body) => Spoken) => {
    const { double } = chatVendors.find((vendor) => vendor.id === id)!
    house.upstreams[id].answer(double(say))
  }
  const lastBody = (id: keyof VendorGateway['upstreams']) =>
    house.upstreams[id].requests.at(-1)!.body as Body

  const gpt = { ...chatVendors[0]!, model: 'gpt-6.2-sol' }
  for (const { id, model } of [...chatVendors, gpt]) {
    for (const stream of [false, true]) {
      const ask = (asked: Omit<Asked, 'model' | 'max_tokens'>): Promise<Anthropic.Message> => {
        const request = { model, max_tokens: 2048, ...asked }
        return stream
          ? client.messages.stream(request).finalMessage()
          : client.messages.create(request)
      }

      describe(`with ${model} of ${id}${stream ? ', streamed' : ''}`, () => {
        it('gets a text, with what was used and what it cost', async () => {
          const written = id === 'anthropic' ? 10 : 0
          const counts = { input: 30, output: 5, cached: 12, written }
          says(id, () => ({ text: ['21 ', 'degrees.'], counts }))
          const message = await ask({ messages: [question] })
          expect(message).to.deep.include({
            type: 'message',
            role: 'assistant',
            model,
            content: [{ type: 'text', text: '21 degrees.' }],
            stop_reason: 'end_turn',
            stop_sequence: null,
          })
          expect(message.id).to.match(/^msg_/)
          expect(message.usage).to.deep.include({
            input_tokens: 30 - 12 - written,
            cache_read_input_tokens: 12,
            cache_creation_input_tokens: written,
            output_tokens: 5,
          })
          const { cost_nano_usd: nanoUsd } = (await house.gateway.usage()).at(-1)!
          expect(nanoUsd).to.be.greaterThan(0)
          // The client's helper for streams drops members that it does not know.
          if (stream) return
          expect(message.usage).to.include({ cost: nanoUsd! / 1e9, cost_status: 'exact' })
        })

        it('runs tools over two turns, and the reasoning goes round', async () => {
          says(id, () => callsTwice)
          const asked = {
            tools: [weather],
            system: 'Be brief.',
            thinking: { type: 'adaptive' as const },
          }
          const first = await ask({ ...asked, messages: [question] })
          expect(first.stop_reason).to.equal('tool_use')
          const calls = first.content.filter((block) => block.type === 'tool_use')
          expect(calls.map(({ id: call, input }) => [call, input])).to.deep.equal([
            [calls[0]!.id, { town: 'Rome' }],
            [calls[1]!.id, { town: 'Oslo "North"' }],
          ])
          says(id, () => ({ text: ['Warm in both.'] }))
          const results = calls.map(({ id: call }, at) => ({
            type: 'tool_result' as const,
            tool_use_id: call,
            content: [{ type: 'text' as const, text: `${20 + at} degrees` }],
            is_error: false,
          }))
          const second = await ask({
            ...asked,
            messages: [
              question,
              { role: 'assistant', content: first.content },
              { role: 'user', content: [...results, { type: 'text', text: 'So?' }] },
            ],
          })
          expect(second.content).to.deep.equal([{ type: 'text', text: 'Warm in both.' }])
          const sent = JSON.stringify(lastBody(id))
          expect(sent.indexOf('20 degrees')).to.be.lessThan(sent.indexOf('So?'))
          expect(sent).not.to.contain('gw1.')
          if (model in carried) expect(sent).to.contain(carried[model])
        })

        it('gets an object with a schema', async () => {
          says(id, (body) => {
            expect(JSON.stringify(body)).to.contain('"warm"')
            return { text: ['{"warm":', 'true}'] }
          })
          const { content } = await ask({
            messages: [question],
            output_config: { format: { type: 'json_schema', schema } },
          })
          expect(content).to.deep.equal([{ type: 'text', text: '{"warm":true}' }])
        })

        for (const [end, reason] of [
          ['length', 'max_tokens'],
          ['content_filter', 'refusal'],
        ] as const) {
          it(`is told the stop reason ${reason}`, async () => {
            says(id, () => ({ text: ['It '], end }))
            const message = await ask({ messages: [question] })
            expect(message.stop_reason).to.equal(reason)
          })
        }
      })
    }
  }

  it('sends a picture, in a message and in the result of a tool', async () => {
    const data = pixel.split(',')[1]!
    const image = {
      type: 'image' as const,
      source: { type: 'base64' as const, media_type: 'image/png' as const, data },
    }
    for (const { id, model } of chatVendors) {
      says(id, () => ({ text: ['A dot.'] }))
      const use = { type: 'tool_use' as const, id: 'toolu_9', name: 'weather', input: {} }
      const result = { type: 'tool_result' as const, tool_use_id: 'toolu_9', content: [image] }
      await client.messages.create({
        model,
        max_tokens: 100,
        tools: [weather],
        messages: [
          { role: 'user', content: [image, { type: 'text', text: 'What is it?' }] },
          { role: 'assistant', content: [use] },
          { role: 'user', content: [result] },
        ],
      })
      expect(JSON.stringify(lastBody(id)).split(data)).to.have.length(3)
    }
  })

  it('gets the signature of Anthropic only in an envelope, which is opened for Anthropic', async () => {
    says('anthropic', () => callsTwice)
    const { model } = chatVendors[1]!
    const asked = {
      model,
      max_tokens: 2048,
      tools: [weather],
      thinking: { type: 'adaptive' as const },
    }
    const first = await client.messages.create({ ...asked, messages: [question] })
    expect(blocks(first)).to.deep.equal(['thinking', 'text', 'tool_use', 'tool_use'])
    const signed = first.content.flatMap((block) =>
      block.type === 'thinking' ? [block.signature] : [],
    )
    for (const signature of signed) expect(signature).to.match(/^gw1\./)
    const results = ['toolu_1', 'toolu_2'].map((call) => ({
      type: 'tool_result' as const,
      tool_use_id: call,
      content: '20',
    }))
    const answer = (content: Anthropic.ContentBlockParam[]): Anthropic.MessageParam[] => [
      question,
      { role: 'assistant', content },
      { role: 'user', content: results },
    ]
    says('anthropic', () => ({ text: ['Warm.'] }))
    await client.messages.create({ ...asked, messages: answer(first.content) })
    const [, turn] = lastBody('anthropic')['messages'] as { content: Body[] }[]
    expect(turn!.content[0]).to.deep.equal({
      type: 'thinking',
      thinking: 'I look.',
      signature: 'EqQB',
    })
    const spoilt = first.content.map((block) => {
      if (block.type !== 'thinking') return block
      const [prefix, text, proof] = block.signature.split('.')
      const json = Buffer.from(text!, 'base64url').toString().replace('EqQB', 'EqQC')
      const changed = Buffer.from(json).toString('base64url')
      return { ...block, signature: `${prefix}.${changed}.${proof}` }
    })
    const forged = ['[1]', '{'].map((json) => {
      const text = Buffer.from(json).toString('base64url')
      const signature = `gw1.${text}.${hash('sha256', text, 'base64url')}`
      return first.content.map((block) =>
        block.type === 'thinking' ? { ...block, signature } : block,
      )
    })
    for (const content of [
      spoilt,
      ...forged,
      first.content.map((block) =>
        block.type === 'thinking' ? { ...block, signature: 'EqQBCgIYAh' } : block,
      ),
      [{ type: 'redacted_thinking' as const, data: 'abc' }, ...first.content.slice(2)],
    ]) {
      await client.messages.create({ ...asked, messages: answer(content) })
      expect(JSON.stringify(lastBody('anthropic')['messages'])).not.to.contain('"thinking"')
    }
  })

  it('shows no reasoning to a client that did not ask for it, but what the vendor needs again', async () => {
    const { model, double } = chatVendors[1]!
    house.upstreams.anthropic.answer(double(() => callsTwice))
    const request = { model, max_tokens: 2048, tools: [weather], messages: [question] }
    const plain = await client.messages.create(request)
    expect(blocks(plain)).to.deep.equal(['text', 'tool_use', 'tool_use'])
    const thinking = { type: 'adaptive' as const, display: 'omitted' as const }
    const message = await client.messages.create({ ...request, thinking })
    expect(blocks(message)).to.deep.equal(['thinking', 'text', 'tool_use', 'tool_use'])
    expect(message.content[0]).to.include({ thinking: '' })
    // The lifetime has no price, so that the request is translated.
    const cache_control = { type: 'ephemeral' as const, ttl: '1h' as const }
    const translated = await client.messages.create({ ...request, thinking, cache_control })
    expect(blocks(translated)).to.deep.equal(['text', 'thinking', 'tool_use', 'tool_use'])
    expect(translated.content[1]).to.include({ thinking: '' })
  })
})
