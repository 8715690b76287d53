import { expect } from 'chai'
import { completion } from '../support/chat-answers.ts'
import { forEachStore } from '../support/each-store.ts'
import type { TestGateway } from '../support/gateway.ts'
import { ownProvider, quickLimits } from '../support/own-endpoint.ts'
import { programPath } from '../support/program-path.ts'
import { startTwo, type TwoProcesses } from '../support/two-processes.ts'
import { until } from '../support/until.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

/** The cost of each call: a thousand output tokens at $2 per million. */
const costNanoUsd = 2_000_000
const usage = { prompt_tokens: 0, completion_tokens: 1000, total_tokens: 1000 }
/** The middle of a minute, an hour and a day. */
const noon = Date.parse('2026-11-22T12:30:30Z')

for (const aheadMs of [60_000, -60_000]) {
  forEachStore(`two replicas, one ${aheadMs / 1000} s ahead`, () => {
    let upstream: Upstream
    let two: TwoProcesses
    let both: readonly TestGateway[]
    let asked = 0
    before(async function () {
      programPath('redis-server', this)
      upstream = await startUpstream()
      const start = noon - performance.now()
      two = await startTwo({
        variables: { OWN_API_KEY: 'sk-own' },
        file: {
          providers: [ownProvider('own', upstream)],
          routes: { 'gpt-5-mini': ['own/house-1'] },
          limits: { ...quickLimits, limits_timeout_ms: 5000 },
        },
        bounds: { keyCacheMs: 0 },
        clocks: [
          () => Math.floor(start + performance.now()),
          () => Math.floor(start + performance.now() + aheadMs),
        ],
      })
      both = [two.a, two.b]
      upstream.answer(completion('Hi.', { usage }))
    })
    after(async () => {
      await two?.stop()
      await upstream?.stop()
    })

    const ask = async (key: string, index: number) => {
      const messages = [{ role: 'user', content: `hello ${asked++}` }]
      const body = { model: 'gpt-5-mini', messages, max_completion_tokens: 1000 }
      const answer = await both[index % 2]!.post('/v1/chat/completions', body, { key })
      await answer.text()
      return answer.status
    }
    const statuses = async (key: string, count: number) =>
      Map.groupBy(
        await Promise.all(Array.from({ length: count }, (_, index) => ask(key, index))),
        (status) => status,
      )

    it('admit exactly as many calls as a limit allows', async () => {
      const key = await two.a.createKey('live')
      await two.a.allow({ requests_per_minute: 10, concurrency: 100 }, key)
      const found = await statuses(key, 40)
      expect(found.get(200)).to.have.length(10)
      expect(found.get(429)).to.have.length(30)
      expect(await statuses(key, 4)).to.have.all.keys(429)
    })

    it('admit exactly the calls that a budget covers, record each once, and release all reservations', async () => {
      const key = await two.a.createKey('live')
      const budget_nano_usd = 10 * costNanoUsd + costNanoUsd / 2
      await two.a.allow({ budget_nano_usd, budget_period: 'day' }, key)
      const [rows, requests] = [(await two.a.usage()).length, upstream.requests.length]
      // Calls in several rounds, since reservations of running calls reduce the budget of other calls.
      let paid = 0
      for (let round = 0; round < 4; round++) paid += (await statuses(key, 8)).get(200)?.length ?? 0
      expect(paid).to.equal(10)
      expect(upstream.requests.length - requests).to.equal(10)
      await until('all are settled', async () => (await two.a.usage()).length === rows + 10)
      const held = two.a.db.selectFrom('reservations').selectAll()
      await until('nothing is held', async () => (await held.execute()).length === 0)
      for (const gateway of both) {
        const own = await (await gateway.fetch('/api/key', { key })).json()
        expect(own).to.have.nested.property('budget.spent.nano_usd', 10 * costNanoUsd)
      }
    })

    it('accept people and keys that the other has just added', async () => {
      for (const [here, there] of [both, both.toReversed()]) {
        const { headers } = await here!.people.signIn({
          email: `person-${both.indexOf(here!)}@replica.example`,
        })
        const { status } = await there!.fetch('/api/sessions/current', { headers, key: null })
        expect(status).to.equal(200)
        expect(await ask(await here!.createKey('live'), both.indexOf(there!))).to.equal(200)
      }
    })
  })
}
