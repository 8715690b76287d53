import { expect } from 'chai'
import sharp from 'sharp'
import {
  completion,
  doneEvent,
  finishChunk,
  refusal,
  streamed,
  textChunk,
} from '../support/chat-answers.ts'
import { readEvents, readText } from '../support/event-stream.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type CallOptions, type TestGateway } from '../support/gateway.ts'
import { hello, ownProvider, quickLimits } from '../support/own-endpoint.ts'
import { startUpstream, type ScriptedAnswer, type Upstream } from '../support/upstream.ts'

const model = 'gpt-5-mini'

describe('failover to the next provider', () => {
  let first: Upstream
  let second: Upstream
  let gateway: TestGateway
  before(async () => {
    first = await startUpstream()
    second = await startUpstream()
  })
  after(async () => {
    await first.stop()
    await second.stop()
  })
  // Each test needs a new gateway, because results of a route change the route order of later calls.
  beforeEach(async () => {
    first.answer(refusal(503))
    second.answer(completion('second'))
    gateway = await start({ chat_timeout_ms: 1500, upstream_headers_timeout_ms: 200 })
  })
  afterEach(() => gateway.stop())
  const start = (limits: object) =>
    startGateway({
      variables: { OWN_API_KEY: 'sk-own' },
      file: {
        providers: [ownProvider('first', first), ownProvider('second', second)],
        routes: {
          [model]: ['first', 'second/other-name'],
          'zai/cogview-4': ['first', 'second'],
        },
        limits: { ...quickLimits, ...limits },
      },
      bounds: { imageCallsConcurrentMax: 1 },
    })
  const chat = (body: object = {}, init: CallOptions = {}) =>
    gateway.post(
      '/v1/chat/completions',
      { model, messages: hello, ...body },
      { key: gateway.liveKey, ...init },
    )
  const attemptsOf = (response: Response) => response.headers.get('x-gateway-attempts')

  it('answers from the second provider when the first is down, and bills once', async () => {
    const response = await chat()
    expect(response.status).to.equal(200)
    expect(attemptsOf(response)).to.equal('first=overloaded, second=ok')
    expect(response.headers.get('x-gateway-provider')).to.equal('second')
    expect(response.headers.get('x-gateway-model')).to.equal(model)
    expect(first.requests[0]!.body).to.include({ model })
    expect(second.requests[0]!.body).to.include({ model: 'other-name' })
    const rows = await gateway.usage()
    expect(rows).to.have.length(1)
    expect(rows[0]).to.include({
      model,
      provider: 'second',
      upstream_model: 'other-name',
      outcome: 'ok',
      cost_nano_usd: 9 * 250 + 4 * 2000,
    })
    const attempts = JSON.parse(rows[0]!.attempts) as object[]
    expect(attempts).to.have.length(2)
    expect(attempts[0]).to.include({ provider: 'first', outcome: 'overloaded', status: 503 })
  })

  const moves: [string, ScriptedAnswer, string][] = [
    ['breaks the connection', { reset: 'before' }, 'unreachable'],
    ['never answers', { hang: true }, 'timeout'],
    ['answers HTML', { body: '<html>' }, 'malformed'],
    ['limits the rate', refusal(429), 'rate_limited'],
    ['has no credit left', refusal(429, 'insufficient_quota'), 'out_of_credit'],
    ['refuses our key', refusal(401), 'credentials'],
    ['does not have the model', refusal(404), 'not_found'],
  ]
  for (const [name, answer, outcome] of moves) {
    it(`calls the second provider when the first ${name}`, async () => {
      first.answer(answer)
      const response = await chat()
      expect(response.status).to.equal(200)
      expect(attemptsOf(response)).to.equal(`first=${outcome}, second=ok`)
    })
  }

  const stays: [string, ScriptedAnswer, number, string][] = [
    ['a bad request', refusal(400), 400, 'invalid_value'],
    ['content', refusal(400, 'content_policy_violation'), 400, 'content_policy_violation'],
    ['a request as too large', refusal(413), 413, 'request_too_large'],
  ]
  for (const [name, answer, status, code] of stays) {
    it(`does not call the second provider when the first refuses ${name}`, async () => {
      first.answer(answer)
      await expectError(await chat(), { status, code })
      expect(second.requests).to.deep.equal([])
    })
  }

  const tooLong = refusal(400, 'context_length_exceeded')

  it('calls the second provider when the conversation is too long for the first, which stays healthy', async () => {
    first.answer(tooLong)
    // Fails more often than is needed to open a circuit.
    for (let turn = 0; turn < 6; turn++) {
      const response = await chat({ seed: turn })
      expect(response.status).to.equal(200)
      expect(attemptsOf(response)).to.equal('first=context_length, second=ok')
    }
  })

  for (const [name, answer] of [
    ['too small as well', tooLong],
    ['down', refusal(503)],
    ['without the model', refusal(404)],
  ] as const) {
    it(`reports that the conversation is too long when the second provider is ${name}`, async () => {
      first.answer(tooLong)
      second.answer(answer)
      const { message } = await expectError(await chat(), {
        status: 400,
        code: 'context_length_exceeded',
        type: 'invalid_request_error',
      })
      expect(message).to.equal('No: 400.')
    })
  }

  it('does not call the second provider when the caller disables failover', async () => {
    const response = await chat({}, { headers: { 'x-gateway-no-fallback': 'true' } })
    await expectError(response, { status: 502, code: 'provider_error' })
    expect(second.requests).to.deep.equal([])
  })

  it('falls back on the models that the caller names, in their order', async () => {
    second.answer(({ body }) =>
      (body as { model: string }).model === 'c' ? completion('from c') : refusal(500),
    )
    const models = ['second/b', 'second/c']
    const response = await chat({ model: 'first/a', models })
    expect(response.status).to.equal(200)
    expect(attemptsOf(response)).to.equal('first=overloaded, second=overloaded, second=ok')
    expect(response.headers.get('x-gateway-model')).to.equal('second/c')
    expect((await gateway.usage()).map((row) => row.model)).to.deep.equal(['second/c'])
  })

  it('refuses a list with a model that does not exist', async () => {
    const response = await chat({ models: ['nobody/nothing'] })
    await expectError(response, { status: 404, code: 'model_not_found' })
    expect(first.requests).to.deep.equal([])
  })

  it('reports that all providers failed, and bills nothing', async () => {
    second.answer(refusal(500))
    const expected = { status: 502, code: 'all_providers_failed', type: 'upstream_error' }
    await expectError(await chat(), expected)
    const rows = await gateway.usage()
    expect(rows).to.have.length(1)
    expect(rows[0]).to.include({ outcome: 'failed', cost_nano_usd: 0, provider: null })
    expect(JSON.parse(rows[0]!.attempts)).to.have.length(2)
  })

  it('has one deadline for all providers', async () => {
    await gateway.stop()
    gateway = await start({ chat_timeout_ms: 3000 })
    first.answer({ ...refusal(503), delayMs: 1500 })
    second.answer({ hang: true })
    const startedAt = performance.now()
    await expectError(await chat(), { status: 504, code: 'timeout', type: 'timeout_error' })
    // Both providers share the deadline; a separate deadline would end 1500 ms later.
    expect(performance.now() - startedAt).to.be.within(2950, 4450)
    const [row] = await gateway.usage()
    expect(JSON.parse(row!.attempts)).to.have.length(2)
  })

  it('moves a stream to the second provider before its first event', async () => {
    first.answer({ pieces: [': wait\n\n', 'data: {"error":{"message":"no","code":500}}\n\n'] })
    second.answer(streamed(['one ', 'two']))
    const response = await chat({ stream: true })
    expect(attemptsOf(response)).to.equal('first=overloaded, second=ok')
    expect(readText(await response.text())).to.equal('one two')
  })

  it('does not restart a stream that has begun', async () => {
    first.answer({ pieces: [textChunk('one ')], reset: 'after' })
    second.answer({ pieces: [textChunk('other'), finishChunk(), doneEvent] })
    const response = await chat({ stream: true })
    const events = readEvents(await response.text())
    expect(events.at(-1)!.name).to.equal('error')
    expect(second.requests).to.deep.equal([])
  })

  describe('with several pictures', () => {
    let picture: ScriptedAnswer
    before(async () => {
      const pixels = { width: 512, height: 512, channels: 3, background: '#c33' } as const
      const bytes = await sharp({ create: pixels }).png().toBuffer()
      picture = { body: { created: 1, data: [{ b64_json: bytes.toString('base64') }] } }
    })
    const paint = () =>
      gateway.post(
        '/v1/images/generations',
        { model: 'zai/cogview-4', prompt: 'a fox', n: 3, size: '512x512' },
        { key: gateway.liveKey },
      )

    it('moves each picture separately', async () => {
      first.answer((_request, index) => (index === 1 ? refusal(503) : picture))
      second.answer(picture)
      const response = await paint()
      const { data } = (await response.json()) as { data: object[] }
      expect(data).to.have.length(3)
      expect(attemptsOf(response)!.split(', ').sort()).to.deep.equal([
        'first=ok',
        'first=ok',
        'first=overloaded',
        'second=ok',
      ])
      const rows = await gateway.usage()
      expect(rows).to.have.length(1)
      expect(rows[0]).to.include({ images: 3, cost_nano_usd: 30_000_000, outcome: 'ok' })
    })

    it('returns all pictures, or an error that charges the pictures that were made', async () => {
      first.answer((_request, index) => (index === 1 ? refusal(503) : picture))
      second.answer(refusal(500))
      await expectError(await paint(), { status: 502, code: 'all_providers_failed' })
      const rows = await gateway.usage()
      expect(rows).to.have.length(1)
      expect(rows[0]).to.include({ outcome: 'failed', cost_nano_usd: 10_000_000 })
      // The gateway does not request the third picture after the second picture failed.
      expect(first.requests.length + second.requests.length).to.equal(3)
    })
  })
})
