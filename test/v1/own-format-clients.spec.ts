import { expect } from 'chai'
import type OpenAI from 'openai'
import { chatVendors, startVendorGateway, type VendorGateway } from '../support/chat-vendors.ts'
import { openAiClient } from '../support/openai-client.ts'
import type { Spoken } from '../support/spoken.ts'

const messages = [{ role: 'user' as const, content: 'How warm is it in Rome and Oslo?' }]
const calls = ['Rome', 'Oslo'].map((town, at) => ({
  id: `toolu_${at}`,
  name: 'weather',
  args: { town },
}))
const schema = {
  type: 'object',
  properties: { warm: { type: 'boolean' } },
  required: ['warm'],
  additionalProperties: false,
}

describe("the helpers of OpenAI's own client", () => {
  let house: VendorGateway
  let client: OpenAI
  before(async () => {
    house = await startVendorGateway()
    client = openAiClient(house.gateway, house.gateway.liveKey)
  })
  after(() => house.stop())

  const openai = chatVendors[0]!
  for (const { id, model, double } of [...chatVendors, { ...openai, model: 'gpt-6.2-sol' }]) {
    describe(`with ${model} of ${id}`, () => {
      for (const stream of [false, true]) {
        it(`run concurrent tools to the end${stream ? ', streamed' : ''}`, async () => {
          const asked: string[] = []
          const weather = ({ town }: { town: string }) => {
            asked.push(town)
            return `${town}: 21`
          }
          // The test vendor refuses tool results without the tool calls that they belong to.
          const say = (body: object): Spoken =>
            JSON.stringify(body).includes('Oslo: 21')
              ? { text: ['Both ', 'are warm.'], reasoning: ['Hm.'] }
              : { calls, reasoning: ['I look.'], end: 'tool_calls' }
          house.upstreams[id].answer(double(say))
          const tools = [
            {
              type: 'function' as const,
              function: {
                name: 'weather',
                description: 'The weather in a town.',
                parameters: { type: 'object', properties: { town: { type: 'string' } } },
                parse: JSON.parse,
                function: weather,
              },
            },
          ]
          const asking = { model, messages, tools }
          const runner = stream
            ? client.chat.completions.runTools({ ...asking, stream })
            : client.chat.completions.runTools(asking)
          expect(await runner.finalContent()).to.equal('Both are warm.')
          expect(asked).to.deep.equal(['Rome', 'Oslo'])
        })
      }

      it('parse a structured answer, and detect a filtered one', async () => {
        const format = {
          type: 'json_schema' as const,
          json_schema: { name: 'it', schema, strict: true },
        }
        const request = { model, messages, response_format: format }
        house.upstreams[id].answer(double(() => ({ text: ['{"warm":', 'true}'] })))
        const { choices } = await client.chat.completions.parse(request)
        expect(choices[0]!.message.parsed).to.deep.equal({ warm: true })
        house.upstreams[id].answer(double(() => ({ text: ['{'], end: 'content_filter' })))
        const error = await client.chat.completions
          .parse(request)
          .catch((thrown: unknown) => thrown)
        expect(error).to.be.an('error').with.property('message').that.contains('content filter')
      })
    })
  }
})
