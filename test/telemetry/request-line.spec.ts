import { expect } from 'chai'
import { completion, doneEvent, finishChunk, refusal, textChunk } from '../support/chat-answers.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { openAiClient } from '../support/openai-client.ts'
import { hello, ownKey, ownProvider, quickLimits } from '../support/own-endpoint.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

describe('the log line of a request', () => {
  let first: Upstream
  let second: Upstream
  let gateway: TestGateway
  let nowMs = 0
  before(async () => {
    ;[first, second] = [await startUpstream(), await startUpstream()]
    gateway = await startGateway({
      monotonic: () => nowMs,
      variables: { OWN_API_KEY: ownKey },
      file: {
        providers: [ownProvider('first', first), ownProvider('second', second)],
        routes: { 'gpt-5-mini': ['first', 'second'] },
        catalog: { 'first/embeds': { embedding: { dimensions: 2, inputs_per_call_max: 1 } } },
        limits: quickLimits,
      },
    })
  })
  after(async () => {
    await gateway.stop()
    await first.stop()
    await second.stop()
  })

  type Line = Record<string, unknown>
  /** The line of the last request with this path. */
  const line = (path: string): Line => {
    const lines = gateway.logText().split('\n').slice(0, -1)
    return lines.map((text) => JSON.parse(text) as Line).findLast((one) => one['path'] === path)!
  }
  /** Answers after this time of the gateway's clock. */
  const late = <Answer>(ms: number, answer: Answer) => {
    return (): Answer => {
      nowMs += ms
      return answer
    }
  }
  const client = () => openAiClient(gateway, gateway.liveKey)
  const chat = (more: object = {}) =>
    gateway.post(
      '/v1/chat/completions',
      { model: 'gpt-5-mini', messages: hello, ...more },
      { key: gateway.liveKey },
    )
  const chatLine = () => line('/v1/chat/completions')

  it('has the time at vendors apart from the whole time, and each attempt', async () => {
    first.answer(late(300, refusal(503)))
    second.answer(late(500, completion('Hi.')))
    await (await chat()).text()
    expect(chatLine()).to.include({
      stream: false,
      vendorMs: 800,
      durationMs: 800,
      attempts: 'first=overloaded, second=ok',
    })
    expect(chatLine()).to.not.have.property('firstTokenMs')
  })

  it('has no time at vendors for an answer from the cache', async () => {
    await (await chat()).text()
    expect(chatLine()).to.include({ cache: 'hit', vendorMs: 0, attempts: '', stream: false })
  })

  it('has the time to the first event of a stream, and the time at the vendor to its end', async () => {
    async function* pieces(): AsyncGenerator<string> {
      nowMs += 70
      yield textChunk('one ')
      await seen.promise
      nowMs += 400
      yield* [textChunk('two'), finishChunk(), doneEvent]
    }
    const seen = Promise.withResolvers<void>()
    first.answer({ pieces: pieces() })
    const stream = await client().chat.completions.create({
      model: 'first/house',
      messages: hello,
      stream: true,
    })
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content === 'one ') seen.resolve()
    expect(chatLine()).to.include({
      stream: true,
      firstTokenMs: 70,
      vendorMs: 470,
      durationMs: 470,
      attempts: 'first=ok',
    })
  })

  it('has no time to the first event of a stream that no vendor began', async () => {
    first.answer(late(30, refusal(503)))
    const answer = await chat({ model: 'first/house', stream: true, seed: 1 })
    expect(answer.status).to.equal(502)
    expect(chatLine()).to.include({ stream: true, vendorMs: 30, attempts: 'first=overloaded' })
    expect(chatLine()).to.not.have.property('firstTokenMs')
  })

  it('counts the time once in which several attempts ran', async () => {
    const both = Promise.withResolvers<void>()
    let asked = 0
    first.answer(() => {
      asked += 1
      if (asked === 2) {
        nowMs += 200
        both.resolve()
      }
      const body = { data: [{ index: 0, embedding: [1, 0] }], usage: { prompt_tokens: 1 } }
      return { body, after: both.promise }
    })
    const body = { model: 'first/embeds', input: ['one', 'two'] }
    const made = await gateway.post('/v1/embeddings', body, { key: gateway.liveKey })
    expect(made.status, await made.text()).to.equal(200)
    const attempts = 'first=ok, first=ok'
    expect(line('/v1/embeddings')).to.include({ vendorMs: 200, stream: false, attempts })
  })

  it('has none of these fields if no model was called', async () => {
    expect((await chat({ model: 'none/such' })).status).to.equal(404)
    expect(chatLine()).to.have.property('code', 'model_not_found')
    for (const field of ['vendorMs', 'firstTokenMs', 'stream', 'attempts'])
      expect(chatLine()).to.not.have.property(field)
  })
})
