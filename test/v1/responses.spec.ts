import { expect } from 'chai'
import type OpenAI from 'openai'
import { chatVendors, startVendorGateway, type VendorGateway } from '../support/chat-vendors.ts'
import { pdf } from '../support/chat-wire.ts'
import { openAiClient } from '../support/openai-client.ts'
import { pixel } from '../support/pixel.ts'
import { checkResponseEvents } from '../support/response-events.ts'
import type { Spoken } from '../support/spoken.ts'

type Input = OpenAI.Responses.ResponseInputItem
type Asked = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'model' | 'stream'>
type Body = Record<string, unknown>

const weather: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'weather',
  description: 'The weather in a town.',
  strict: false,
  parameters: { type: 'object', properties: { town: { type: 'string' } }, required: ['town'] },
}
const counts = { input: 1200, output: 90, cached: 1000, reasoning: 40 }
/** Nano-dollars of `counts`: of plain input, of cached input and of output. */
const costs: Record<string, number> = {
  openai: 200 * 2000 + 1000 * 500 + 90 * 8000,
  anthropic: 200 * 3000 + 1000 * 300 + 90 * 15_000,
  google: 200 * 500 + 1000 * 50 + 90 * 3000,
}
const schema = {
  type: 'object',
  properties: { name: { type: 'string' } },
  required: ['name'],
  additionalProperties: false,
}

describe('POST /v1/responses', () => {
  let house: VendorGateway
  let client: OpenAI
  before(async () => {
    house = await startVendorGateway()
    client = openAiClient(house.gateway, house.gateway.liveKey)
  })
  after(() => house.stop())

  const post = (body: object) =>
    house.gateway.post('/v1/responses', body, { key: house.gateway.liveKey })

  for (const { id, model, double } of chatVendors) {
    for (const stream of [false, true]) {
      describe(`${stream ? 'streamed' : 'whole'} with ${id}`, () => {
        let sent: Body
        const says = (spoken: Spoken) =>
          house.upstreams[id].answer(
            double((body) => {
              sent = body
              return spoken
            }),
          )
        /** The answer to OpenAI's client; events are checked on the way. */
        const ask = async (asked: Asked) => {
          if (!stream) return client.responses.create({ model, ...asked })
          checkResponseEvents(await (await post({ model, stream, ...asked })).text())
          return client.responses.stream({ model, ...asked }).finalResponse()
        }

        it('answers with text, and with the exact price', async () => {
          says({ text: ['Good', ' day: “ä€😀”\n'], counts })
          const answer = await ask({
            instructions: 'Be kind.',
            input: 'Hello',
            max_output_tokens: 100,
            temperature: 0.5,
            metadata: { trip: 'rome' },
          })
          expect(answer.output_text).to.equal('Good day: “ä€😀”\n')
          expect(answer).to.deep.include({
            object: 'response',
            status: 'completed',
            store: true,
            instructions: 'Be kind.',
            max_output_tokens: 100,
            metadata: { trip: 'rome' },
          })
          expect(answer.usage).to.deep.include({
            input_tokens: counts.input,
            output_tokens: counts.output,
            total_tokens: counts.input + counts.output,
            cost: costs[id]! / 1e9,
          })
          expect(answer.usage!.input_tokens_details.cached_tokens).to.equal(counts.cached)
          expect(answer.usage!.output_tokens_details.reasoning_tokens).to.equal(counts.reasoning)
          const row = (await house.gateway.usage()).at(-1)!
          expect(row).to.include({ face: 'responses', outcome: 'ok', cost_nano_usd: costs[id] })
        })

        it('calls tools over two turns', async () => {
          says({
            text: ['I look.'],
            calls: [
              { id: 'call_1', name: 'weather', args: { town: 'Rome' } },
              { id: 'call_2', name: 'weather', args: { town: 'Oslo "North"' } },
            ],
            end: 'tool_calls',
          })
          const question: Input = { role: 'user', content: 'How is it in Rome and in Oslo?' }
          const first = await ask({ input: [question], tools: [weather], tool_choice: 'auto' })
          // Gemini signs its calls, which travels as reasoning.
          const types = first.output.map(({ type }) => type).filter((type) => type !== 'reasoning')
          expect(types).to.deep.equal(['message', 'function_call', 'function_call'])
          const calls = first.output.flatMap((item) => (item.type === 'function_call' ? item : []))
          expect(calls.map((call) => JSON.parse(call.arguments) as unknown)).to.deep.equal([
            { town: 'Rome' },
            { town: 'Oslo "North"' },
          ])
          const results = calls.map(({ call_id }): Input => ({
            type: 'function_call_output',
            call_id,
            output: '21',
          }))
          says({ text: ['Warm.'] })
          const input = [question, ...(first.output as Input[]), ...results]
          const second = await ask({ input, tools: [weather] })
          expect(second.output_text).to.equal('Warm.')
          expect(JSON.stringify(sent)).to.contain('I look.').and.contain('North')
        })

        it('follows a schema', async () => {
          says({ text: ['{"name":', '"Ada"}'] })
          const format = { type: 'json_schema' as const, name: 'person', schema, strict: true }
          const answer = await ask({ input: 'Who?', text: { format } })
          expect(JSON.parse(answer.output_text)).to.deep.equal({ name: 'Ada' })
          expect(JSON.stringify(sent)).to.contain(JSON.stringify(schema))
        })

        it('shows a picture and a document', async () => {
          says({ text: ['A dot.'] })
          const answer = await ask({
            input: [
              {
                role: 'user',
                content: [
                  { type: 'input_text', text: 'What is it?' },
                  { type: 'input_image', image_url: pixel, detail: 'auto' },
                  { type: 'input_file', file_data: pdf, filename: 'a.pdf' },
                ],
              },
            ],
          })
          expect(answer.output_text).to.equal('A dot.')
          for (const url of [pixel, pdf]) {
            expect(JSON.stringify(sent)).to.contain(url.split(',')[1])
          }
        })

        it('is incomplete at the limit', async () => {
          says({ text: ['Half a'], end: 'length' })
          const answer = await ask({ input: 'Tell.', max_output_tokens: 16 })
          expect(answer).to.deep.include({
            status: 'incomplete',
            incomplete_details: { reason: 'max_output_tokens' },
          })
          const [item] = answer.output
          expect(item).to.include({ type: 'message', status: 'incomplete' })
        })
      })
    }

    it(`tells the failure of a stream of ${id} twice`, async () => {
      const full = double(() => ({ text: ['one ', 'two '], counts }))
      house.upstreams[id].answer((request) => {
        const { pieces } = full(request)
        return { pieces: [...(pieces as string[])].slice(0, -2), reset: 'after' }
      })
      const text = await (await post({ model, input: 'Count.', stream: true })).text()
      const { types, response } = checkResponseEvents(text)
      expect(types.slice(-2)).to.deep.equal(['error', 'response.failed'])
      expect(response.error).to.deep.include({ code: 'server_error' })
      const thrown = client.responses.stream({ model, input: 'Count.' }).finalResponse()
      expect(await thrown.catch((error: Error) => error.message)).to.contain('provider')
      const row = (await house.gateway.usage()).at(-1)!
      expect(row).to.include({ outcome: 'failed', error_code: 'provider_error' })
    })

    it(`answers with an error before the first event of ${id}`, async () => {
      house.upstreams[id].answer({ status: 400, body: { error: { message: 'No.', code: 400 } } })
      const response = await post({ model, input: 'Hello', stream: true })
      expect(response.status).to.equal(400)
    })
  }
})
