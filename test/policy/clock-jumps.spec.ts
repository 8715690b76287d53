import { expect } from 'chai'
import { completion, refusal } from '../support/chat-answers.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { hello, ownKey, ownProvider } from '../support/own-endpoint.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

const hourMs = 3_600_000

for (const [jump, jumpMs] of [
  ['forward', hourMs],
  ['back', -hourMs],
] as const) {
  describe(`a clock that jumps ${jump} an hour`, () => {
    let one: Upstream
    let two: Upstream
    let gateway: TestGateway
    /** The times of the system clock and of the monotonic clock. */
    let wall: number
    let passed: number
    beforeEach(async () => {
      wall = Date.parse('2026-11-22T12:00:00Z')
      passed = 5_000_000
      ;[one, two] = await Promise.all([startUpstream(), startUpstream()])
      one.answer(completion('from one'))
      two.answer(completion('from two'))
      gateway = await startGateway({
        variables: { OWN_API_KEY: ownKey },
        file: {
          providers: [ownProvider('one', one), ownProvider('two', two)],
          routes: { 'gpt-4.1': ['one/big', 'two/big'] },
          limits: { requests_per_minute: 5, route_tries_max: 1 },
        },
        bounds: { circuitFailuresMax: 1 },
        clock: () => wall,
        monotonic: () => passed,
      })
    })
    afterEach(async () => {
      await gateway.stop()
      await Promise.all([one.stop(), two.stop()])
    })
    const pass = (ms: number) => {
      wall += ms
      passed += ms
    }
    const jumpNow = () => (wall += jumpMs)
    const ask = async (content = 'hello', headers: Record<string, string> = {}) => {
      const body = { model: 'gpt-4.1', messages: [{ ...hello[0]!, content }] }
      const response = await gateway.post('/v1/chat/completions', body, {
        key: gateway.liveKey,
        headers,
      })
      await response.text()
      return response
    }
    const fresh = { 'cache-control': 'no-store' }

    it('keeps no revoked key alive', async () => {
      expect((await ask()).status).to.equal(200)
      await gateway.revokeKeys()
      jumpNow()
      pass(1001)
      expect((await ask()).status).to.equal(401)
    })

    it('neither shortens nor extends the minute of a limit', async () => {
      for (let turn = 0; turn < 5; turn++) await ask('hello')
      pass(10_000)
      jumpNow()
      const refused = await ask()
      expect(refused.status).to.equal(429)
      expect(refused.headers.get('retry-after')).to.equal('50')
      pass(50_000)
      expect((await ask()).status).to.equal(200)
    })

    it('neither shortens nor extends the lifetime of a cached answer', async () => {
      const cacheOf = async () => (await ask('again')).headers.get('x-gateway-cache')
      expect(await cacheOf()).to.equal('miss')
      jumpNow()
      expect(await cacheOf()).to.equal('hit')
      pass(60_001)
      expect(await cacheOf()).to.equal('miss')
    })

    it('neither closes a circuit nor holds it open', async () => {
      const attemptsOf = async () => (await ask('hello', fresh)).headers.get('x-gateway-attempts')
      one.answer(refusal(500))
      expect(await attemptsOf()).to.equal('one=overloaded, two=ok')
      one.answer(completion('from one'))
      jumpNow()
      expect(await attemptsOf()).to.equal('two=ok')
      pass(5001)
      expect(await attemptsOf()).to.equal('one=ok')
    })

    it('does not change durations: rows have the start time and the elapsed time of a call', async () => {
      one.answer(() => {
        passed += 70
        jumpNow()
        return completion('from one')
      })
      await ask('hello', fresh)
      const [row] = await gateway.usage()
      expect(row).to.include({ at: Date.parse('2026-11-22T12:00:00Z'), duration_ms: 70 })
      expect(JSON.parse(row!.attempts)).to.have.nested.property('[0].durationMs', 70)
    })
  })
}
