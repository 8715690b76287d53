import { expect } from 'chai'
import type OpenAI from 'openai'
import { answerTraps, type AnswerTrap } from '../support/answer-traps.ts'
import { startEveryVendor, type EveryVendor } from '../support/every-vendor.ts'
import { openAiClient } from '../support/openai-client.ts'
import { hello } from '../support/own-endpoint.ts'

describe("OpenAI's own client, whatever the format of a vendor's answer", () => {
  let house: EveryVendor
  let client: OpenAI
  before(async () => {
    house = await startEveryVendor()
    client = openAiClient(house.gateway, house.gateway.liveKey)
  })
  after(() => house.stop())

  const expectAnswer = (said: OpenAI.ChatCompletion, { message, finish }: AnswerTrap) => {
    const [choice] = said.choices
    const { content, tool_calls: calls = [] } = choice!.message
    expect(choice!.finish_reason).to.equal(finish)
    expect(content ?? '').to.equal(message.content ?? '')
    const received = calls.map((call) =>
      call.type === 'function' ? [call.function.name, call.function.arguments] : [],
    )
    expect(received).to.deep.equal(message.calls ?? [])
    expect(new Set(calls.map(({ id }) => id)).size).to.equal(calls.length)
    expect(reasoningIn(choice!.message)).to.equal(message.reasoning_content ?? '')
  }
  /** The whole answer of a stream. Collects reasoning itself: the client keeps only the last piece. */
  const streamed = async (model: string) => {
    const stream = client.chat.completions.stream({ model, messages: hello })
    let thoughts = ''
    stream.on('chunk', ({ choices }) => {
      for (const { delta } of choices) thoughts += reasoningIn(delta)
    })
    const said = await stream.finalChatCompletion()
    Object.assign(said.choices[0]!.message, { reasoning_content: thoughts })
    return said
  }

  for (const trap of answerTraps) {
    const { name, model, whole, events } = trap
    if (whole !== undefined) {
      it(`understands ${model}, which answers ${name}`, async () => {
        house.upstream.answer({ body: whole })
        const said = await client.chat.completions.create({ model, messages: hello })
        expectAnswer(said, trap)
      })

      it(`understands ${model}, which answers ${name}, as a stream though the vendor sent none`, async () => {
        house.upstream.answer({ body: whole })
        expectAnswer(await streamed(model), trap)
      })
    }
    if (events === undefined) continue
    it(`understands ${model}, which streams ${name}, though no stream was requested`, async () => {
      house.upstream.answer({ pieces: events })
      expectAnswer(await client.chat.completions.create({ model, messages: hello }), trap)
    })

    it(`understands ${model}, which streams ${name}`, async () => {
      house.upstream.answer({ pieces: events })
      expectAnswer(await streamed(model), trap)
    })
  }

  for (const stream of [false, true]) {
    it(`runs tools in a loop${stream ? ' of streams' : ''}, with ids that the vendor did not give`, async () => {
      const call = { function: { name: 'add', arguments: { a: 1, b: 2 } } }
      const asEvents = (delta: object) => [
        `data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`,
        'data: [DONE]\n\n',
      ]
      house.upstream.answer((_request, index) => {
        const message = index === 0 ? { tool_calls: [call] } : { content: 'It is 3.' }
        if (stream) return { pieces: asEvents(message) }
        return { body: { choices: [{ message, finish_reason: 'stop' }] } }
      })
      const tool = {
        type: 'function' as const,
        function: {
          name: 'add',
          description: 'Adds.',
          parameters: { type: 'object', properties: {} },
          parse: (text: string) => JSON.parse(text) as { a: number; b: number },
          function: ({ a, b }: { a: number; b: number }) => String(a + b),
        },
      }
      const asked = { model: 'own/plain', messages: hello, tools: [tool] }
      const runner = stream
        ? client.chat.completions.runTools({ ...asked, stream: true })
        : client.chat.completions.runTools(asked)
      expect(await runner.finalContent()).to.equal('It is 3.')
      const { messages } = house.upstream.requests[1]!.body as {
        messages: { role: string; tool_call_id?: string; tool_calls?: { id: string }[] }[]
      }
      const id = messages.find(({ role }) => role === 'assistant')!.tool_calls![0]!.id
      expect(id).to.match(/^call_[0-9a-f]{24}$/)
      expect(messages.at(-1)).to.deep.include({ role: 'tool', tool_call_id: id, content: '3' })
    })

    it(`parses an answer by its schema${stream ? ' out of a stream' : ''}`, async () => {
      const text = '{"city":"Ulm"}'
      house.upstream.answer(
        stream
          ? {
              pieces: [
                `data: ${JSON.stringify({ choices: [{ delta: { content: text } }] })}\n\n`,
                'data: [DONE]\n\n',
              ],
            }
          : { body: { choices: [{ message: { content: text } }] } },
      )
      const schema = {
        type: 'object',
        properties: { city: { type: 'string' } },
        required: ['city'],
      }
      const format = {
        type: 'json_schema' as const,
        json_schema: { name: 'place', schema, strict: true },
      }
      const asked = { model: 'own/plain', messages: hello, response_format: format }
      const said = stream
        ? await client.chat.completions.stream(asked).finalChatCompletion()
        : await client.chat.completions.parse(asked)
      expect(JSON.parse(said.choices[0]!.message.content!)).to.deep.equal({ city: 'Ulm' })
    })
  }
})

function reasoningIn(said: object): string {
  return (said as { reasoning_content?: string | null }).reasoning_content ?? ''
}
