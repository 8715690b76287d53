import { expect } from 'chai'
import { completion, refusal, streamed, textChunk } from '../support/chat-answers.ts'
import { readChunks, readText } from '../support/event-stream.ts'
import { startGateway, type CallOptions } from '../support/gateway.ts'
import { hello, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { until } from '../support/until.ts'
import type { ScriptedAnswer } from '../support/upstream.ts'

type Answer = {
  choices: { message: { content: string } }[]
  usage: { prompt_tokens: number; cost: number; cost_status: string }
}

describe('the response cache', () => {
  let own: OwnEndpoint
  let turn = 0
  before(async () => {
    own = await startOwnEndpoint()
  })
  after(() => own.stop())
  /** A body with a question that no earlier request contained. */
  const newQuestion = () => ({ messages: [{ role: 'user', content: `question ${++turn}` }] })
  const asked = () => own.upstream.requests.length
  const cacheOf = (response: Response) => response.headers.get('x-gateway-cache')
  const control = (value: string): CallOptions => ({ headers: { 'cache-control': value } })

  beforeEach(() => own.upstream.answer((_request, index) => completion(`answer ${index}`)))

  it('answers an identical call at no cost, and records it', async () => {
    const body = newQuestion()
    const first = await own.chat(body)
    const second = await own.chat(body)
    const [fresh, again] = [(await first.json()) as Answer, (await second.json()) as Answer]
    expect(asked()).to.equal(1)
    expect([cacheOf(first), cacheOf(second)]).to.deep.equal(['miss', 'hit'])
    expect(again.choices).to.deep.equal(fresh.choices)
    expect(again.usage).to.include({ prompt_tokens: 9, cost: 0, cost_status: 'cached' })
    expect(second.headers.get('x-gateway-cost-usd')).to.equal('0')
    expect(second.headers.get('x-gateway-provider')).to.equal('own')
    const rows = (await own.gateway.usage()).slice(-2)
    expect(rows[1]).to.include({
      cache: 'hit',
      cost_nano_usd: 0,
      cost_status: 'cached',
      outcome: 'ok',
    })
    expect(rows[1]).to.include({ input_tokens: 9, output_tokens: 4, model: 'own/house-1' })
    expect(rows[0]!.id).not.to.equal(rows[1]!.id)
  })

  for (const size of [1, 30_000]) {
    it(`returns an answer of ${size} characters again, whatever members its vendor adds`, async () => {
      const members = {
        native: { text: 'no', native: 1 },
        text: 'no',
        result: 'no',
        completion: { choices: [] },
        '\0bytes': 3,
      }
      const { body } = completion('x'.repeat(size)) as { body: object }
      own.upstream.answer({ body: { ...members, ...body } })
      const question = newQuestion()
      const [first, again] = [await own.chat(question), await own.chat(question)]
      expect([first.status, again.status]).to.deep.equal([200, 200])
      expect(cacheOf(again)).to.equal('hit')
      const [fresh, known] = [(await first.json()) as Answer, (await again.json()) as Answer]
      expect({ ...known, usage: null }).to.deep.equal({ ...fresh, usage: null })
      expect(fresh.choices[0]!.message.content).to.equal('x'.repeat(size))
      expect(fresh).to.have.property('native')
    })
  }

  it('recognizes a call in any order of its members', async () => {
    const { messages } = newQuestion()
    await own.chat({ messages, temperature: 0.5, top_p: 0.1 })
    const second = await own.chat({ top_p: 0.1, temperature: 0.5, messages })
    expect(cacheOf(second)).to.equal('hit')
  })

  it('replays a stream', async () => {
    own.upstream.answer(streamed(['one ', 'two']))
    const body = { ...newQuestion(), stream: true, stream_options: { include_usage: true } }
    const first = await (await own.chat(body)).text()
    const second = await own.chat(body)
    const again = await second.text()
    expect(asked()).to.equal(1)
    expect(cacheOf(second)).to.equal('hit')
    expect(readText(again)).to.equal('one two')
    expect(readChunks(again).slice(0, -1)).to.deep.equal(readChunks(first).slice(0, -1))
    expect(readChunks(again).at(-1)!.usage).to.include({ cost: 0, cost_status: 'cached' })
    expect(again.endsWith('data: [DONE]\n\n')).to.equal(true)
  })

  it('makes a new answer with no-cache, and stores it', async () => {
    const body = newQuestion()
    await own.chat(body)
    const fresh = await own.chat(body, control('no-cache'))
    const last = (await (await own.chat(body)).json()) as Answer
    expect(cacheOf(fresh)).to.equal('bypass')
    expect(asked()).to.equal(2)
    expect(last.choices[0]!.message.content).to.equal('answer 1')
  })

  it('is neither read nor written with no-store', async () => {
    const body = newQuestion()
    const first = await own.chat(body, control('no-store'))
    const second = await own.chat(body)
    const third = await own.chat(body, control('max-age=0, No-Store'))
    expect([first, second, third].map(cacheOf)).to.deep.equal(['bypass', 'miss', 'bypass'])
    expect(asked()).to.equal(3)
  })

  it('is off for a call with a lifetime of 0', async () => {
    const body = newQuestion()
    const off = { headers: { 'x-gateway-cache-ttl': '0' } }
    const answers = [await own.chat(body, off), await own.chat(body, off), await own.chat(body)]
    expect(answers.map(cacheOf)).to.deep.equal(['bypass', 'bypass', 'miss'])
  })

  it('drops an answer after the lifetime that the call set', async () => {
    const body = newQuestion()
    const answered = await own.chat(body, { headers: { 'x-gateway-cache-ttl': '1' } })
    const rememberedAt = performance.now()
    expect(cacheOf(answered)).to.equal('miss')
    expect(cacheOf(await own.chat(body))).to.equal('hit')
    await until('it is forgotten', async () => cacheOf(await own.chat(body)) === 'miss')
    expect(performance.now() - rememberedAt).to.be.within(500, 10_000)
  })

  it('is off when the operator disables it', async () => {
    await using off = await startOwnEndpoint({ limits: { cache_ttl_seconds: 0 } })
    off.upstream.answer(completion('Hi.'))
    const answers = [await off.chat(), await off.chat()]
    expect(answers.map(cacheOf)).to.deep.equal(['miss', 'miss'])
  })

  it('is not shared with another account', async () => {
    const body = newQuestion()
    await own.chat(body)
    const key = await own.gateway.createKey('live', {
      accountId: await own.gateway.createAccount(),
    })
    const other = await own.chat(body, { key })
    expect(cacheOf(other)).to.equal('miss')
    expect(asked()).to.equal(2)
    const again = await own.chat(body, { key })
    const rows = (await own.gateway.usage()).slice(-2)
    expect(cacheOf(again)).to.equal('hit')
    expect(rows[0]!.account_id).to.equal(rows[1]!.account_id)
  })

  it('is shared between the keys of an account', async () => {
    const body = newQuestion()
    await own.chat(body)
    const key = await own.gateway.createKey('live')
    expect(cacheOf(await own.chat(body, { key }))).to.equal('hit')
  })

  it('returns no answer of a model that the key may not use', async () => {
    const body = newQuestion()
    await own.chat(body)
    const key = await own.gateway.createKey('live', { models: ['gpt-5'] })
    expect((await own.chat(body, { key })).status).to.equal(403)
  })

  it('does not give a test answer to a live key', async () => {
    const body = { model: 'gpt-5-mini', messages: hello }
    const { gateway } = own
    expect((await gateway.post('/v1/chat/completions', body)).status).to.equal(200)
    const live = await gateway.post('/v1/chat/completions', body, { key: gateway.liveKey })
    expect(live.status).to.equal(503)
  })

  const differences: [string, object][] = [
    ['another question', { messages: [{ role: 'user', content: 'another' }] }],
    ['another model', { model: 'own/house-2' }],
    ['another temperature', { temperature: 0.1 }],
    ['a limit', { max_tokens: 5 }],
    ['tools', { tools: [{ type: 'function', function: { name: 'f' } }] }],
    ['a response format', { response_format: { type: 'json_object' } }],
    ['a field that only the provider knows', { top_k: 3 }],
    ['a stream', { stream: true }],
  ]
  for (const [name, difference] of differences) {
    it(`makes a new answer for ${name}`, async () => {
      const body = newQuestion()
      own.upstream.answer(({ body }) =>
        (body as { stream?: boolean }).stream ? streamed(['Hi.']) : completion('Hi.'),
      )
      await own.chat(body)
      const other = await own.chat({ ...body, ...difference })
      await other.text()
      expect(cacheOf(other)).to.equal('miss')
      expect(asked()).to.equal(2)
    })
  }

  const brokenOff = { pieces: [textChunk('one ')], reset: 'after' as const }
  const unremembered: [string, ScriptedAnswer, ScriptedAnswer, object?][] = [
    ['an error', refusal(503), completion('Hi.')],
    ['a refusal', refusal(400), completion('Hi.')],
    ['a stream that broke off', brokenOff, streamed(['Hi.']), { stream: true }],
  ]
  for (const [name, bad, good, rest] of unremembered) {
    it(`does not store ${name}`, async () => {
      const body = { ...newQuestion(), ...rest }
      own.upstream.answer(bad)
      await (await own.chat(body)).text()
      own.upstream.answer(good)
      const second = await own.chat(body)
      await second.text()
      expect(second.status).to.equal(200)
      expect(cacheOf(second)).to.equal('miss')
    })
  }

  it('does not store an answer larger than the maximum of an entry', async () => {
    const body = newQuestion()
    own.upstream.answer(completion('x'.repeat(5_000_000)))
    const answers = [await own.chat(body), await own.chat(body)]
    expect(answers.map(cacheOf)).to.deep.equal(['miss', 'miss'])
  })

  it('returns a picture again, and makes a new one for another size or number', async () => {
    await using gateway = await startGateway()
    const fox = { model: 'zai/cogview-4', prompt: 'a fox', size: '512x512' }
    const make = async (body: object) => {
      const response = await gateway.post('/v1/images/generations', body)
      const { data, usage } = (await response.json()) as {
        data: unknown[]
        usage: { cost: number }
      }
      return { cache: cacheOf(response), data, cost: usage.cost }
    }
    const first = await make(fox)
    const again = await make({ ...fox, n: 1 })
    const others = [await make({ ...fox, size: '528x528' }), await make({ ...fox, n: 2 })]
    expect(first).to.include({ cache: 'miss', cost: 0.01 })
    expect(again).to.include({ cache: 'hit', cost: 0 })
    expect(again.data).to.deep.equal(first.data)
    expect(others.map(({ cache, cost }) => [cache, cost])).to.deep.equal([
      ['miss', 0.01],
      ['miss', 0.02],
    ])
  })
})
