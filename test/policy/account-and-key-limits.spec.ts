import { expect } from 'chai'
import { completion, finishChunk, roleChunk, textChunk, usage } from '../support/chat-answers.ts'
import { expectError } from '../support/expect-error.ts'
import type { CallOptions } from '../support/gateway.ts'
import { callTool, connectClient, textOf } from '../support/mcp-client.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { pixel } from '../support/pixel.ts'
import { until } from '../support/until.ts'

const tooMany = { status: 429, code: 'rate_limit_exceeded' }
const usedTokens = Number(usage['total_tokens'])

type Own = {
  rate_limits: { kind: string; limit: number; remaining: number; reset_seconds: number | null }[]
  account: Pick<Own, 'rate_limits'>
}

describe('the limits of an account and its keys', () => {
  let shared: OwnEndpoint
  let own: OwnEndpoint
  let key: string
  let passedMs: number
  before(async () => {
    shared = await startOwnEndpoint({
      limits: { requests_per_minute: 100_000 },
      bounds: { keyCacheMs: 0 },
      monotonic: () => passedMs,
    })
  })
  beforeEach(async () => {
    passedMs = 1_000_000
    own = await shared.inNewAccount()
    key = await own.gateway.createKey('live')
    own.upstream.answer(completion('Hi.'))
  })
  after(() => shared.stop())

  let asked = 0
  /** Sends a question that no earlier request contained. */
  const ask = (more: object = {}, init: CallOptions = {}) =>
    own.chat(
      { messages: [{ role: 'user', content: `hello ${asked++}` }], ...more },
      { key, ...init },
    )
  const draw = (n: number) =>
    own.gateway.post(
      '/v1/images/generations',
      { model: 'own/painter', prompt: `fox ${asked++}`, n },
      { key },
    )
  const pictures = (count: number) => ({
    body: {
      created: 1,
      data: Array.from({ length: count }, () => ({ b64_json: pixel.split(',')[1] })),
    },
  })
  const ownKey = async () => (await (await own.gateway.fetch('/api/key', { key })).json()) as Own
  const left = async (kind: string) =>
    (await ownKey()).rate_limits.find((one) => one.kind === kind)!.remaining

  it('admit exactly the allowed number of 500 calls in each minute', async () => {
    await own.gateway.allow({ requests_per_minute: 50 }, key)
    for (let minute = 0; minute < 2; minute++) {
      const answers = await Promise.all(Array.from({ length: 500 }, () => ask()))
      const statuses = answers.map(({ status }) => status)
      expect(statuses.filter((status) => status === 200)).to.have.length(50)
      expect(statuses.filter((status) => status === 429)).to.have.length(450)
      await Promise.all(answers.map((answer) => answer.text()))
      passedMs += 60_000
    }
    expect(await own.gateway.usage()).to.have.length(100)
  })

  it('do not count a call that one of them refuses', async () => {
    await own.gateway.allow({ requests_per_minute: 2 })
    await own.gateway.allow({ requests_per_minute: 10 }, key)
    await ask()
    await ask()
    const refused = await ask()
    const { message } = await expectError(refused, tooMany)
    expect(message).to.match(/^This account may make 2 requests a minute/)
    expect(refused.headers.get('ratelimit')).to.equal(
      '"requests-per-account";r=0;t=60, "requests-per-key";r=8;t=60',
    )
    expect(refused.headers.get('ratelimit-policy')).to.equal(
      '"requests-per-account";q=2;w=60, "requests-per-key";q=10;w=60',
    )
    expect(refused.headers.get('x-ratelimit-limit-requests')).to.equal('2')
    expect(await left('requests')).to.equal(8)
    const other = await own.gateway.createKey('live', {
      accountId: await own.gateway.createAccount(),
    })
    expect((await ask({}, { key: other })).status).to.equal(200)
  })

  it('count requested images, and return those that were not delivered', async () => {
    await own.gateway.allow({ images_per_minute: 6 }, key)
    own.upstream.answer(({ body }) => pictures((body as { n?: number }).n ?? 1))
    const drawn = await draw(4)
    expect(drawn.status, await drawn.text()).to.equal(200)
    expect(drawn.headers.get('x-ratelimit-limit-images')).to.equal('6')
    expect(drawn.headers.get('x-ratelimit-remaining-images')).to.equal('2')
    expect(drawn.headers.get('x-ratelimit-reset-images')).to.equal('60s')
    const { message } = await expectError(await draw(3), tooMany)
    expect(message).to.contain('2 are left, and this call asks for 3')
    let calls = 0
    own.upstream.answer(() => (++calls % 2 === 0 ? { status: 400, body: {} } : pictures(1)))
    const failed = await draw(2)
    expect(failed.status).to.equal(400)
    expect(failed.headers.get('x-ratelimit-remaining-images')).to.equal('2')
    own.upstream.answer(() => pictures(1))
    expect((await draw(2)).status).to.equal(200)
    expect(await left('images')).to.equal(0)
    expect((await ask()).status, 'a chat makes no images').to.not.equal(429)
  })

  it('count the requested tokens first, and the used ones afterwards', async () => {
    await own.gateway.allow({ tokens_per_minute: 1000 }, key)
    const gate = Promise.withResolvers<void>()
    own.upstream.answer({ ...completion('Hi.'), after: gate.promise })
    const running = ask({ max_tokens: 900 })
    await until('it is with the provider', () => own.upstream.requests.length === 1)
    expect(await left('tokens')).to.be.within(90, 98)
    const { message } = await expectError(await ask({ max_tokens: 500 }), tooMany)
    expect(message).to.match(
      /may use 1000 tokens a minute; 9\d are left, and this call may use 50\d/,
    )
    await expectError(await ask({ max_tokens: 5000 }), tooMany)
    gate.resolve()
    const { headers } = await running
    const leaves = 1000 - usedTokens
    expect(headers.get('x-ratelimit-remaining-tokens')).to.equal(String(leaves))
    expect(headers.get('ratelimit-policy')).to.contain('"tokens-per-key";q=1000;w=60;qu="tokens"')
    expect(await left('tokens')).to.equal(leaves)
  })

  it('count no tokens or images of a cached or shared answer', async () => {
    await own.gateway.allow({ tokens_per_minute: 1000, requests_per_minute: 100 }, key)
    const gate = Promise.withResolvers<void>()
    own.upstream.answer({ ...completion('Hi.'), after: gate.promise })
    const same = { messages: [{ role: 'user', content: 'the same' }], max_tokens: 100 }
    const calls = [ask(same), ask(same), ask(same)]
    await until('all are there', async () => (await left('requests')) === 97)
    expect(await left('tokens')).to.be.at.most(700)
    gate.resolve()
    await Promise.all(calls)
    expect((await ask(same)).headers.get('x-gateway-cache')).to.equal('hit')
    expect(own.upstream.requests).to.have.length(1)
    expect(await left('tokens')).to.equal(1000 - usedTokens)
    expect(await left('requests')).to.equal(96)
  })

  it('count a stream as concurrent until its end or until its caller disconnects', async () => {
    await own.gateway.allow({ concurrency: 2, tokens_per_minute: 10_000 }, key)
    const gate = Promise.withResolvers<void>()
    own.upstream.answer({
      headers: { 'content-type': 'text/event-stream' },
      pieces: (async function* () {
        yield roleChunk + textChunk('Hi')
        await gate.promise
        yield finishChunk() + 'data: [DONE]\n\n'
      })(),
    })
    const leaving = new AbortController()
    const first = await ask({ stream: true })
    own.upstream.answer({
      headers: { 'content-type': 'text/event-stream' },
      pieces: [roleChunk, textChunk('Hi')],
      hang: true,
    })
    await ask({ stream: true }, { signal: leaving.signal })
    const refused = await ask()
    const { message } = await expectError(refused, tooMany)
    expect(message).to.match(/^This API key may have 2 calls at once/)
    expect(refused.headers.get('retry-after')).to.equal('1')
    expect(refused.headers.get('ratelimit-policy')).to.contain(
      '"concurrency-per-key";q=2;qu="concurrent-requests"',
    )
    leaving.abort()
    await until('the caller that left is gone', async () => (await left('concurrency')) === 1)
    gate.resolve()
    await first.text()
    await until('the stream has ended', async () => (await left('concurrency')) === 2)
    const tokens = await left('tokens')
    expect(tokens, 'what was delivered counts, and nothing else').to.be.within(9900, 9999)
  })

  it('apply changes to an open window', async () => {
    await own.gateway.allow({ requests_per_minute: 5 }, key)
    for (let turn = 0; turn < 3; turn++) await ask()
    await own.gateway.allow({ requests_per_minute: 3 }, key)
    expect((await ask()).status).to.equal(429)
    await own.gateway.allow({ requests_per_minute: 4 }, key)
    expect((await ask()).status).to.equal(200)
  })

  it('refuse every call when they are 0, and say who can change it', async () => {
    await own.gateway.allow({ requests_per_minute: 0 }, key)
    const refused = await ask()
    const { message } = await expectError(refused, tooMany)
    expect(message).to.contain('the limit is 0. Who manages the keys of the account can change it.')
    expect(refused.headers.get('retry-after')).to.equal('60')
  })

  it('apply to tools, with messages for a model', async () => {
    await own.gateway.allow({ images_per_minute: 1, concurrency: 5 }, key)
    const client = await connectClient(own.gateway, key)
    own.upstream.answer(() => pictures(1))
    const args = { model: 'own/painter', prompt: 'a fox', n: 2 }
    const refused = await callTool(client, 'generate-image', args)
    expect(refused.isError).to.equal(true)
    expect(textOf(refused)).to.equal(
      "This API key may make 1 image a minute, and this call alone asks for 2. Waiting does not help: ask for fewer with 'n'.",
    )
    const made = await callTool(client, 'generate-image', { ...args, n: 1 })
    expect(made.isError).to.equal(undefined)
    await client.close()
    expect(await left('images')).to.equal(0)
    expect(await left('concurrency')).to.equal(5)
  })

  it('are shown with the remaining amounts to the holder of a key', async () => {
    await own.gateway.allow({ tokens_per_minute: 500 })
    await own.gateway.allow({ requests_per_minute: 5 }, key)
    await ask()
    passedMs += 20_500
    const { rate_limits: ofKey, account } = await ownKey()
    const window = { window_seconds: 60, reset_seconds: 40 }
    expect(ofKey).to.deep.equal([{ kind: 'requests', limit: 5, remaining: 4, ...window }])
    expect(account.rate_limits).to.deep.equal([
      { kind: 'requests', limit: 100_000, remaining: 99_999, ...window },
      { kind: 'tokens', limit: 500, remaining: 500 - usedTokens, ...window },
    ])
  })
})
