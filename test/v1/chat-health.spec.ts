import { expect } from 'chai'
import { completion, refusal, streamed, textChunk } from '../support/chat-answers.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { hello, ownKey, ownProvider } from '../support/own-endpoint.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

const cutStream = { pieces: [textChunk('one')], reset: 'after' as const }

describe('a route that keeps failing', () => {
  let one: Upstream
  let two: Upstream
  let gateway: TestGateway
  let now: number
  beforeEach(async () => {
    now = Date.now()
    ;[one, two] = await Promise.all([startUpstream(), startUpstream()])
    gateway = await startGateway({
      variables: { OWN_API_KEY: ownKey },
      file: {
        providers: [ownProvider('one', one), ownProvider('two', two)],
        routes: { 'gpt-4.1': ['one/big', 'two/big'] },
        limits: { cache_ttl_seconds: 0, route_tries_max: 1 },
      },
      clock: () => now,
    })
    one.answer(completion('from one'))
    two.answer(completion('from two'))
  })
  afterEach(async () => {
    await gateway.stop()
    await Promise.all([one.stop(), two.stop()])
  })

  const ask = async (body: object = {}, headers: Record<string, string> = {}) => {
    const response = await gateway.post(
      '/v1/chat/completions',
      { model: 'gpt-4.1', messages: hello, ...body },
      { key: gateway.liveKey, headers },
    )
    await response.text()
    return response.headers.get('x-gateway-attempts')
  }
  const failFiveTimes = async (body: object = {}) => {
    for (let count = 0; count < 5; count++) await ask(body)
  }

  it('is called last until a probe succeeds', async () => {
    one.answer(refusal(500))
    await failFiveTimes()
    expect(await ask()).to.equal('two=ok')
    now += 5000
    expect(await ask()).to.equal('one=overloaded, two=ok')
    expect(await ask()).to.equal('two=ok')
    one.answer(completion('from one'))
    now += 10_000
    expect(await ask()).to.equal('one=ok')
    expect(await ask()).to.equal('one=ok')
  })

  it('is still called when no other route is available', async () => {
    one.answer(refusal(500))
    await failFiveTimes()
    two.answer(refusal(503))
    expect(await ask()).to.equal('two=overloaded, one=overloaded')
    const [row] = (await gateway.usage()).slice(-1)
    const made = JSON.parse(row!.attempts) as { provider: string }[]
    expect(made.map(({ provider }) => provider)).to.deep.equal(['two', 'one'])
  })

  it('is also detected by streams that end early', async () => {
    one.answer(cutStream)
    two.answer(streamed(['two']))
    for (let count = 0; count < 5; count++) {
      expect(await ask({ stream: true })).to.equal('one=ok')
    }
    expect(await ask({ stream: true })).to.equal('two=ok')
  })

  it("is not marked as failing for its callers' errors", async () => {
    one.answer(refusal(400))
    await failFiveTimes()
    one.answer(completion('from one'))
    expect(await ask()).to.equal('one=ok')
  })

  it('is skipped also for a caller who allows one try', async () => {
    one.answer(refusal(500))
    await failFiveTimes()
    expect(await ask({}, { 'x-gateway-no-fallback': 'true' })).to.equal('two=ok')
  })
})
