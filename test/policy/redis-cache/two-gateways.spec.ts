import { expect } from 'chai'
import { completion } from '../../support/chat-answers.ts'
import type { CallOptions, TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { paint } from '../../support/image-doubles/paint.ts'
import { ownProvider, quickLimits } from '../../support/own-endpoint.ts'
import { programPath } from '../../support/program-path.ts'
import { startTwo, type TwoProcesses } from '../../support/two-processes.ts'
import { until } from '../../support/until.ts'
import { startUpstream, type Upstream } from '../../support/upstream.ts'

describe('two gateways of one store with a cache in Redis', () => {
  let upstream: Upstream
  let two: TwoProcesses
  let a: TestGateway
  let b: TestGateway
  let turn = 0
  const settings = () => ({
    variables: { OWN_API_KEY: 'sk-own' },
    file: { providers: [ownProvider('own', upstream)], limits: quickLimits },
    bounds: { sharedCacheTimeoutMs: 5000 },
  })
  before(async function () {
    programPath('redis-server', this)
    upstream = await startUpstream()
    two = await startTwo(settings())
    ;({ a, b } = two)
  })
  after(async () => {
    await two?.stop()
    await upstream?.stop()
  })
  beforeEach(() => {
    turn++
    upstream.answer((_request, index) => completion(`answer ${index}`))
  })
  const chat = (gateway: TestGateway, more: object = {}, init: CallOptions = {}) =>
    gateway.post(
      '/v1/chat/completions',
      { model: 'own/house-1', messages: [{ role: 'user', content: `Turn ${turn}.` }], ...more },
      { key: a.liveKey, ...init },
    )
  const cacheOf = (response: Response) => response.headers.get('x-gateway-cache')
  const asked = () => upstream.requests.length
  /** Repeats the request until a cache hit, because the cache entry is written after the answer. */
  const untilHit = (ask: () => Promise<Response>) =>
    until('it is remembered', async () => cacheOf(await ask()) === 'hit')

  it('make one call for twenty identical ones', async () => {
    const gate = Promise.withResolvers<void>()
    upstream.answer({ ...completion('A fox.'), after: gate.promise })
    const calls = Array.from({ length: 20 }, (_, index) => chat(index % 2 === 0 ? a : b))
    const before = asked()
    await until('one is under way', () => asked() > before)
    for (let count = 0; count < 10; count++) await b.fetch('/health')
    gate.resolve()
    const answers = await Promise.all(calls)
    expect(answers.map(({ status }) => status)).to.deep.equal(Array(20).fill(200))
    expect(asked() - before).to.equal(1)
    const hits = answers.filter((answer) => cacheOf(answer) === 'hit')
    expect(hits).to.have.length(19)
    const rows = (await a.usage()).slice(-20)
    expect(rows.filter(({ cache }) => cache === 'hit')).to.have.length(19)
  })

  it("replay each other's streams", async () => {
    const before = asked()
    await (await chat(a, { stream: true })).text()
    await untilHit(() => chat(b, { stream: true }))
    expect(asked() - before).to.be.within(1, 2)
  })

  it("find each other's picture edits", async () => {
    const bytes = await paint({ width: 700, height: 700, format: 'png', number: 1 })
    const made = bytes.toString('base64')
    upstream.answer({ body: { created: 1, data: [{ b64_json: made }] } })
    const edit = (gateway: TestGateway) =>
      gateway.post(
        '/v1/images/edits',
        {
          model: 'own/painter',
          prompt: 'a fox',
          images: [{ image_url: `data:image/png;base64,${made}` }],
        },
        { key: a.liveKey },
      )
    const before = asked()
    const first = (await (await edit(a)).json()) as { data: object[] }
    await untilHit(() => edit(b))
    const again = (await (await edit(b)).json()) as { data: object[] }
    expect(again.data).to.deep.equal(first.data)
    expect(asked() - before).to.be.within(1, 2)
  })

  it('share nothing between accounts', async () => {
    await chat(a)
    await untilHit(() => chat(b))
    const other = await a.createKey('live', { accountId: await a.createAccount() })
    const before = asked()
    const answers = [await chat(a, {}, { key: other }), await chat(b, {}, { key: a.testKey })]
    expect(cacheOf(answers[0]!)).to.equal('miss')
    expect(asked() - before).to.equal(1)
  })

  it('make a new answer for a request in strict mode', async () => {
    await chat(a)
    await untilHit(() => chat(b))
    expect(cacheOf(await chat(b, {}, { headers: { 'x-gateway-strict': 'true' } }))).to.equal('miss')
  })

  it('share nothing with a gateway of another store, and count the outcomes', async () => {
    await chat(a)
    await untilHit(() => chat(b))
    await using stranger = await startGateway({ ...settings(), redisUrl: two.redis.url })
    expect(cacheOf(await chat(stranger, {}, { key: stranger.liveKey }))).to.equal('miss')
    const metrics = await (await b.fetch('/metrics', { key: null })).text()
    expect(metrics).to.match(/gateway_far_cache_total\{outcome="hit"\} [1-9]/)
  })

  it('keep answering when Redis freezes, stops and restarts', async () => {
    for (const signal of ['SIGSTOP', 'SIGKILL'] as const) {
      two.redis.kill(signal)
      for (let count = 0; count < 3; count++) {
        turn++
        const answers = await Promise.all([chat(a), chat(b)])
        expect(answers.map(({ status }) => status)).to.deep.equal([200, 200])
      }
    }
    await two.redis.restart()
    await until('it is shared again', async () => {
      turn++
      await chat(a)
      return cacheOf(await chat(b)) === 'hit'
    })
  })
})
