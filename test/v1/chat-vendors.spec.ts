import { expect } from 'chai'
import type OpenAI from 'openai'
import { chatVendors, startVendorGateway, type VendorGateway } from '../support/chat-vendors.ts'
import { pdf } from '../support/chat-wire.ts'
import { openAiClient } from '../support/openai-client.ts'
import { pixel } from '../support/pixel.ts'
import type { Spoken } from '../support/spoken.ts'
import { until } from '../support/until.ts'

type Usage = OpenAI.CompletionUsage & { cost: number; cost_status: string }

const weather: OpenAI.ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'The weather in a town.',
    parameters: {
      type: 'object',
      properties: { town: { type: 'string' } },
      required: ['town'],
      additionalProperties: false,
    },
  },
}
const counts = { input: 1200, output: 90, cached: 1000, reasoning: 40 }
/** Dollars per million tokens: input, cached input, output. */
const prices: Record<string, [number, number, number]> = {
  openai: [2, 0.5, 8],
  anthropic: [3, 0.3, 15],
  google: [0.5, 0.05, 3],
}

function costUsd(id: string, { input, cached, output }: typeof counts): number {
  const [plain, cheap, written] = prices[id]!
  return (
    Math.round((input - cached) * plain * 1e3 + cached * cheap * 1e3 + output * written * 1e3) / 1e9
  )
}

describe("OpenAI's own client", () => {
  let house: VendorGateway
  let client: OpenAI
  before(async () => {
    house = await startVendorGateway()
    client = openAiClient(house.gateway, house.gateway.liveKey)
  })
  after(() => house.stop())

  for (const { id, model, double } of chatVendors) {
    describe(`with ${id}`, () => {
      const says = (spoken: Spoken | ((body: Record<string, unknown>) => Spoken)) =>
        house.upstreams[id].answer(double(typeof spoken === 'function' ? spoken : () => spoken))
      const lastRow = async () => (await house.gateway.usage()).at(-1)!
      const expectBilled = async (usage: OpenAI.CompletionUsage | null | undefined) => {
        expect(usage).to.deep.include({
          prompt_tokens: counts.input,
          completion_tokens: counts.output,
          total_tokens: counts.input + counts.output,
        })
        expect(usage!.prompt_tokens_details!.cached_tokens).to.equal(counts.cached)
        expect(usage!.completion_tokens_details!.reasoning_tokens).to.equal(counts.reasoning)
        const { cost, cost_status } = usage as Usage
        expect({ cost, cost_status }).to.deep.equal({
          cost: costUsd(id, counts),
          cost_status: 'exact',
        })
        const row = await lastRow()
        expect(row).to.include({
          outcome: 'ok',
          provider: id,
          cost_nano_usd: Math.round(cost * 1e9),
        })
      }

      it('gets an answer', async () => {
        says({ text: ['Good', ' day: “ä€😀”\n'], counts })
        const answer = await client.chat.completions.create({
          model,
          messages: [
            { role: 'system', content: 'Be kind.' },
            { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
          ],
          temperature: 0.5,
          max_tokens: 100,
          stop: ['END'],
        })
        const [choice] = answer.choices
        expect(choice!.message.content).to.equal('Good day: “ä€😀”\n')
        expect(choice!.finish_reason).to.equal('stop')
        expect(answer.object).to.equal('chat.completion')
        expect(answer.created).to.be.greaterThan(1_700_000_000)
        expect(answer).not.to.have.property('warnings')
        await expectBilled(answer.usage)
      })

      it('gets a stream chunk by chunk', async () => {
        const text = ['Good', ' day', ' “ä€', '😀”', '\n\n', 'data: [DONE]', '"\\u0041"']
        says({ text, counts })
        const stream = await client.chat.completions.create({
          model,
          messages: [{ role: 'user', content: 'Hello' }],
          stream: true,
          stream_options: { include_usage: true },
        })
        const pieces: string[] = []
        let finish: string | null = null
        let usage: OpenAI.CompletionUsage | null | undefined
        for await (const chunk of stream) {
          const [choice] = chunk.choices
          if (choice?.delta.content) pieces.push(choice.delta.content)
          finish = choice?.finish_reason ?? finish
          usage = chunk.usage ?? usage
        }
        expect(pieces).to.deep.equal(text)
        expect(finish).to.equal('stop')
        await expectBilled(usage)
      })

      for (const stream of [false, true]) {
        it(`calls tools over two turns${stream ? ' of a stream' : ''}`, async () => {
          const turn = async (messages: OpenAI.ChatCompletionMessageParam[]) => {
            const request = { model, messages, tools: [weather], tool_choice: 'auto' as const }
            if (!stream) return (await client.chat.completions.create(request)).choices[0]!
            return (await client.chat.completions.stream(request).finalChatCompletion()).choices[0]!
          }
          const messages: OpenAI.ChatCompletionMessageParam[] = [
            { role: 'user', content: 'How is it in Rome and in Oslo?' },
          ]
          says({
            calls: [
              { id: 'call_1', name: 'weather', args: { town: 'Rome' } },
              { id: 'call_2', name: 'weather', args: { town: 'Oslo "North"' } },
            ],
            end: 'tool_calls',
          })
          const { message, finish_reason: finish } = await turn(messages)
          expect(finish).to.equal('tool_calls')
          const calls = message.tool_calls as OpenAI.ChatCompletionMessageFunctionToolCall[]
          expect(calls.map((call) => JSON.parse(call.function.arguments) as unknown)).to.deep.equal(
            [{ town: 'Rome' }, { town: 'Oslo "North"' }],
          )
          messages.push(message)
          for (const call of calls) {
            messages.push({ role: 'tool', tool_call_id: call.id, content: '{"celsius":21}' })
          }
          says({ text: ['Warm.'] })
          const second = await turn(messages)
          expect(second.message.content).to.equal('Warm.')
          expect(second.finish_reason).to.equal('stop')
        })
      }

      it('gets JSON by a schema', async () => {
        const schema = {
          type: 'object',
          properties: { name: { type: 'string' } },
          required: ['name'],
          additionalProperties: false,
        }
        let sent = ''
        says((body) => {
          sent = JSON.stringify(body)
          return { text: ['{"name":', '"Ada"}'] }
        })
        const answer = await client.chat.completions.create({
          model,
          messages: [{ role: 'user', content: 'Who?' }],
          response_format: { type: 'json_schema', json_schema: { name: 'person', schema } },
        })
        expect(JSON.parse(answer.choices[0]!.message.content!)).to.deep.equal({ name: 'Ada' })
        expect(sent).to.contain(JSON.stringify(schema))
      })

      const shown: [string, string, OpenAI.ChatCompletionContentPart][] = [
        ['an image', pixel, { type: 'image_url', image_url: { url: pixel } }],
        ['a document', pdf, { type: 'file', file: { filename: 'a.pdf', file_data: pdf } }],
      ]
      for (const [what, url, part] of shown) {
        it(`shows ${what}`, async () => {
          let sent = ''
          says((body) => {
            sent = JSON.stringify(body)
            return { text: ['A dot.'] }
          })
          const content = [{ type: 'text' as const, text: 'What is it?' }, part]
          const messages = [{ role: 'user' as const, content }]
          const answer = await client.chat.completions.create({ model, messages })
          expect(answer.choices[0]!.message.content).to.equal('A dot.')
          const { warnings = [] } = answer as { warnings?: { param: string }[] }
          // Gemini does not accept file names.
          const expected =
            id === 'google' && url === pdf ? ['messages[0].content[1].file.filename'] : []
          expect(warnings.map(({ param }) => param)).to.deep.equal(expected)
          expect(sent).to.contain(url.split(',')[1])
        })
      }

      it('closes the request to the vendor at once when it disconnects in the middle', async () => {
        const full = double(() => ({ text: ['one ', 'two ', 'three '], counts }))
        house.upstreams[id].answer((request) => {
          const { pieces, ...rest } = full(request)
          const events = [...(pieces as string[])]
          return { ...rest, pieces: events.slice(0, -2), hang: true }
        })
        const stream = await client.chat.completions.create({
          model,
          messages: [{ role: 'user', content: 'Count.' }],
          stream: true,
        })
        for await (const chunk of stream) if (chunk.choices[0]?.delta.content === 'one ') break
        const startedAt = performance.now()
        const [request] = house.upstreams[id].requests
        await until('the upstream is left', () => request!.aborted)
        expect(performance.now() - startedAt).to.be.lessThan(5000)
        await until('the row is there', async () => (await lastRow()).outcome === 'cancelled')
        expect((await lastRow()).cost_nano_usd).to.be.greaterThan(0)
        expect(await lastRow()).to.include({ cost_status: 'estimated', provider: id })
      })

      // Gemini has no end mark besides the end of the connection.
      if (id !== 'google') {
        it('gets the end at the end mark of the vendor, though its connection stays open', async () => {
          const full = double(() => ({ text: ['one ', 'two'], counts }))
          house.upstreams[id].answer((request) => ({ ...full(request), hang: true }))
          const stream = await client.chat.completions.create({
            model,
            messages: [{ role: 'user', content: 'Count.' }],
            stream: true,
          })
          let text = ''
          for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
          expect(text).to.equal('one two')
          expect(await lastRow()).to.include({ outcome: 'ok', cost_status: 'exact' })
          // The connection must close, because open connections would exhaust the pool.
          const [request] = house.upstreams[id].requests
          await request!.closed
          expect(request!.aborted).to.equal(true)
        })
      }

      it('gets an error and no end for a stream that breaks off', async () => {
        const full = double(() => ({ text: ['one ', 'two '], counts }))
        house.upstreams[id].answer((request) => {
          const { pieces } = full(request)
          return { pieces: [...(pieces as string[])].slice(0, -2), reset: 'after' }
        })
        const response = await house.gateway.post(
          '/v1/chat/completions',
          { model, messages: [{ role: 'user', content: 'Count.' }], stream: true },
          { key: house.gateway.liveKey },
        )
        const text = await response.text()
        expect(text).to.contain('event: error').and.not.contain('[DONE]')
        expect(await lastRow()).to.include({ outcome: 'failed', error_code: 'provider_error' })
      })
    })
  }
})
