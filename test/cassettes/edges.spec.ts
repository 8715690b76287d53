import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import type OpenAI from 'openai'
import {
  chat,
  exported,
  failureOf,
  prompt,
  recording,
  replaying,
  startCassettes,
  type Cassettes,
} from '../support/cassettes.ts'
import { completion } from '../support/chat-answers.ts'
import type { TestGateway } from '../support/gateway.ts'
import { openAiDouble, openAiEvents } from '../support/openai-upstream.ts'
import { until } from '../support/until.ts'

const model = 'gpt-5.4-mini'
const streamHeaders = { 'content-type': 'text/event-stream' }

describe('keys with a cassette, at the edges,', () => {
  let house: Cassettes
  before(async () => {
    house = await startCassettes()
  })
  beforeEach(() => house.reset())
  after(() => house.stop())
  const startStream = (client: OpenAI) =>
    client.chat.completions.create({
      model,
      messages: [{ role: 'user', content: prompt }],
      stream: true,
    })

  it('replay a stream that broke off', async () => {
    const pieces = openAiEvents({ text: ['Hel', 'lo.'] }, { model }).slice(0, 3)
    house.openai.answer({ headers: streamHeaders, pieces, reset: 'after' })
    const run = async (client: OpenAI) => {
      const texts: unknown[] = []
      const reading = async () => {
        for await (const { choices } of await startStream(client))
          texts.push(choices[0]?.delta.content)
      }
      const { message } = await failureOf(reading())
      return [...texts, message]
    }
    const live = await run(await recording(house.recorder, 'cut'))
    expect(live).to.have.length(4)
    expect(await run(await replaying(house, 'cut'))).to.deep.equal(live)
  })

  it('keep the text of a packed answer whose numbers are no JavaScript numbers', async () => {
    const answer = JSON.stringify(completion('Grüße 🦊').body)
    const text = answer.replace(/}$/, ', "seed": 12345678901234567890, "share": 1.0}')
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    house.openai.answer({ headers, body: gzipSync(text) })
    const live = await chat(await recording(house.recorder, 'packed'))
    const [{ response } = {}] = (await exported(house.recorder, 'packed')).interactions
    expect(response?.text).to.equal(text)
    const replayed = await chat(await replaying(house, 'packed'))
    expect(replayed.data.choices).to.deep.equal(live.data.choices)
  })

  it('replay each API of conversations, and the counting of tokens', async () => {
    const messages = [{ role: 'user', content: prompt }]
    const bodies: [path: string, body: object][] = [
      ['messages', { model, max_tokens: 100, messages }],
      ['messages', { model, max_tokens: 100, messages, stream: true }],
      ['responses', { model, input: prompt }],
      ['responses', { model, input: prompt, stream: true }],
      ['responses/input_tokens', { model, input: prompt }],
    ]
    const run = async (gateway: TestGateway, client: OpenAI) => {
      const answers: unknown[] = []
      for (const [path, body] of bodies) {
        const response = await gateway.post(`/v1/${path}`, body, { key: String(client.apiKey) })
        const text = await response.text()
        expect(response.status, text).to.equal(200)
        // The ids and times are those of the gateway.
        const own = /"(?:id|\w+_id)":"[^"]*"|"(?:created|completed)_at":\d+|"mode":"\w+"/g
        answers.push(text.replaceAll(own, ''))
      }
      return answers
    }
    const live = await run(house.recorder, await recording(house.recorder, 'faces'))
    expect(await run(house.player, await replaying(house, 'faces'))).to.deep.equal(live)
  })

  it('record nothing of an answer whose caller left', async () => {
    const pieces = openAiEvents({ text: ['Hel'] }, { model }).slice(0, 2)
    house.openai.answer({ headers: streamHeaders, pieces, hang: true })
    const client = await recording(house.recorder, 'left')
    const stream = await startStream(client)
    stream.controller.abort()
    const request = house.openai.requests.at(-1)!
    await until('the gateway has left the vendor', () => request.aborted)
    house.openai.answer(openAiDouble(() => ({ text: ['Hello.'] })))
    await chat(client)
    const { interactions } = await exported(house.recorder, 'left')
    expect(interactions.map(({ response }) => response.json !== undefined)).to.deep.equal([true])
  })
})
