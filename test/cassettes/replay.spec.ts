import { expect } from 'chai'
import type OpenAI from 'openai'
import { refusal } from '../support/chat-answers.ts'
import {
  chat,
  exported,
  failureOf,
  player as replayer,
  prompt,
  recording,
  replaying,
  startCassettes,
  type Cassettes,
} from '../support/cassettes.ts'
import type { TestGateway } from '../support/gateway.ts'
import { openAiDouble } from '../support/openai-upstream.ts'
import type { Spoken } from '../support/spoken.ts'
import type { Upstream } from '../support/upstream.ts'

const name = 'checkout'
const model = 'gpt-5.4-mini'
const weather: OpenAI.ChatCompletionTool = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: {} } },
}
const called: Spoken = { calls: [{ id: 'call_1', name: 'weather', args: { city: 'Kiel' } }] }

describe('keys with a cassette', () => {
  let house: Cassettes
  let recorder: TestGateway
  let player: TestGateway
  let openai: Upstream
  before(async () => {
    house = await startCassettes()
    ;({ recorder, player, openai } = house)
  })
  beforeEach(() => house.reset())
  after(() => house.stop())
  /** The answer with the headers of its receipt, of which the times and limits differ. */
  const receiptOf = ({ data, response }: { data: object; response: Response }) => ({
    data: JSON.parse(JSON.stringify(data).replace('"mode":"live"', '"mode":"test"')) as object,
    receipt: ['model', 'provider', 'cost', 'attempts', 'warnings'].map((header) =>
      response.headers.get(`x-gateway-${header}`),
    ),
  })

  it('record a chat, and replay it in a gateway without vendors, with its receipt', async () => {
    const live = await chat(await recording(recorder, name))
    expect(live.response.headers.get('x-gateway-cache')).to.equal('bypass')
    const replayed = await chat(await replaying(house, name))
    expect(receiptOf(replayed)).to.deep.equal(receiptOf(live))
    expect(replayed.response.headers.get('x-gateway-cache')).to.equal('replay')
    const liveRow = (await recorder.usage()).at(-1)!
    const row = (await player.usage()).at(-1)!
    expect(row).to.include({ mode: 'test', cache: 'replay', provider: 'openai', outcome: 'ok' })
    for (const member of ['model', 'input_tokens', 'output_tokens', 'cost_nano_usd'] as const)
      expect(row[member], member).to.equal(liveRow[member])
    expect(liveRow).to.include({ mode: 'live', cache: 'bypass' })
  })

  it('replay a stream as a stream', async () => {
    const texts = async (client: OpenAI) => {
      const pieces: unknown[] = []
      const messages = [{ role: 'user' as const, content: prompt }]
      const options = { include_usage: true }
      const stream = await client.chat.completions.create({
        model,
        messages,
        stream: true,
        stream_options: options,
      })
      for await (const { choices, usage } of stream)
        pieces.push([choices[0]?.delta.content, usage?.total_tokens])
      return pieces
    }
    const live = await texts(await recording(recorder, 'stream'))
    expect(live.length).to.be.above(3)
    expect(await texts(await replaying(house, 'stream'))).to.deep.equal(live)
    const [{ response } = { response: {} }] = (await exported(recorder, 'stream')).interactions
    expect(response).to.have.property('events').that.is.an('array')
  })

  it('replay a loop of tool calls in order, and equal requests in the order of their answers', async () => {
    const loop = async (client: OpenAI) => {
      const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: prompt }]
      const answers: unknown[] = []
      for (let turn = 0; turn < 3; turn++) {
        const request = { model, messages: [...messages], tools: [weather] }
        const [choice] = (await client.chat.completions.create(request)).choices
        answers.push(choice)
        const { message } = choice!
        messages.push(message)
        for (const { id } of message.tool_calls ?? [])
          messages.push({ role: 'tool', tool_call_id: id, content: `${turn} degrees` })
        if (message.tool_calls === undefined) break
      }
      return answers
    }
    const says: Spoken[] = [
      called,
      called,
      { text: ['Cold.'] },
      { text: ['One.'] },
      { text: ['Two.'] },
    ]
    openai.answer(openAiDouble(() => says.shift()!))
    const client = await recording(recorder, 'loop')
    const answers = await loop(client)
    expect(answers).to.have.length(3)
    const pair = async (asked: OpenAI) => [
      (await chat(asked)).data.choices[0]!.message.content,
      (await chat(asked)).data.choices[0]!.message.content,
    ]
    expect(await pair(client)).to.deep.equal(['One.', 'Two.'])
    const replay = await replaying(house, 'loop')
    expect(await loop(replay)).to.deep.equal(answers)
    expect(await pair(replay)).to.deep.equal(['One.', 'Two.'])
    // A further run with the same key begins again.
    expect(await pair(replay)).to.deep.equal(['One.', 'Two.'])
    expect(await loop(replay)).to.deep.equal(answers)
  })

  it('replay a failover without its pauses', async () => {
    openai.answer(refusal(503))
    const models = { models: ['deepseek/deepseek-flash'] }
    const live = await chat(await recording(recorder, 'failover'), prompt, models)
    expect(live.response.headers.get('x-gateway-attempts')).to.equal(
      'openai=overloaded, deepseek=ok',
    )
    expect(receiptOf(await chat(await replaying(house, 'failover'), prompt, models))).to.deep.equal(
      receiptOf(live),
    )
    expect(player.logText()).not.to.include('attempt failed')
  })

  it('replay a broken connection as one', async () => {
    openai.answer({ reset: 'before' })
    const live = await failureOf(chat(await recording(recorder, 'broken')))
    expect(live).to.include({ status: 502, code: 'provider_error' })
    const replayed = await failureOf(chat(await replaying(house, 'broken')))
    expect(replayed).to.include({ status: 502, code: 'provider_error' })
  })

  it('fail closed, and name the first difference', async () => {
    await chat(await recording(recorder, 'difference'), 'One', { max_completion_tokens: 50 })
    await chat(await recording(recorder, 'difference'), 'Two')
    const replay = await replaying(house, 'difference')
    const error = await failureOf(chat(replay, 'One', { max_completion_tokens: 70 }))
    expect(error).to.include({ status: 400, code: 'cassette_mismatch' })
    expect(error.message)
      .to.include('openai, POST /')
      .and.include(
        'Interaction 1 of 2 differs at /interactions/0/request/body/max_completion_tokens',
      )
      .and.include('recorded was 50, given is 70')
      .and.include('record it again')
    await chat(replay, 'One', { max_completion_tokens: 50 })
    expect((await failureOf(chat(replay, 'Three'))).message)
      .to.include('Interaction 2 of 2')
      .and.include('recorded was "Two", given is "Three"')
    const missing = await failureOf(chat(await replayer(player, 'missing')))
    expect(missing).to.include({ status: 404, code: 'not_found', param: null })
    expect(missing.message).to.include('PUT /api/cassettes/missing')
  })

  it('answer equal requests at the same time', async () => {
    let count = 0
    openai.answer(openAiDouble(() => ({ text: [`${++count}`] })))
    const five = async (client: OpenAI) => {
      const all = await Promise.all(Array.from({ length: 5 }, () => chat(client)))
      return all.map(({ data }) => data.choices[0]!.message.content)
    }
    const live = await five(await recording(recorder, 'parallel'))
    expect(live).to.have.members(['1', '2', '3', '4', '5'])
    expect(await five(await replaying(house, 'parallel'))).to.have.members(live)
  })
})
