import { expect } from 'chai'
import { completion } from '../support/chat-answers.ts'
import { nanoPerUsd, setBudgetOfAccount, setBudgetOfKey } from '../support/budgets.ts'
import { hello, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { forEachStore } from '../support/each-store.ts'
import { until } from '../support/until.ts'

const file = { routes: { 'gpt-5-mini': ['own/house-1'] } }
const bounds = { keyCacheMs: 0 }
/** Nearly the whole cost of a call is that of output tokens, at $2 per million. */
const nanoPerToken = 2000
type Money = { nano_usd: number }
type State = {
  owner_id: string
  spent: Money
  reserved: Money
  left: Money
  renews_at: string | null
}

forEachStore('budgets', () => {
  let shared: OwnEndpoint
  let own: OwnEndpoint
  let now = Date.parse('2026-11-30T23:30:00Z')
  before(async () => {
    shared = await startOwnEndpoint({ file, bounds, clock: () => now })
  })
  beforeEach(async () => {
    now = Date.parse('2026-11-30T23:30:00Z')
    own = await shared.inNewAccount()
    own.upstream.answer(({ body }) => {
      const { max_completion_tokens: most = 0 } = body as { max_completion_tokens?: number }
      const usage = { prompt_tokens: 9, completion_tokens: most, total_tokens: 9 + most }
      return { ...completion('Hi.', { usage }), delayMs: 5 }
    })
  })
  after(() => shared.stop())

  const ask = (key: string, tokens = 1000, more: object = {}) =>
    own.gateway.post(
      '/v1/chat/completions',
      { model: 'gpt-5-mini', messages: hello, max_completion_tokens: tokens, ...more },
      { key, headers: { 'cache-control': 'no-store' } },
    )
  const statusOf = async (call: Promise<Response>) => {
    const answer = await call
    await answer.text()
    return answer.status
  }
  const stateOf = async (key: string) => {
    const response = await own.gateway.fetch('/api/key', { key })
    return (await response.json()) as { budget: State; account: { budget: State | null } }
  }
  const keyWith = async (nanoUsd: number, period: 'day' | 'month' | 'total' = 'month') => {
    const key = await own.gateway.createKey('live')
    await setBudgetOfKey(own.gateway, key, { nanoUsd, period })
    return key
  }
  const costs = async () =>
    (await own.gateway.usage()).reduce((sum, row) => sum + (row.cost_nano_usd ?? 0), 0)
  const reservations = () => own.gateway.db.selectFrom('reservations').selectAll().execute()

  it('that cover 10 calls pay exactly 10 of 200 concurrent calls', async () => {
    const key = await keyWith(10.9 * 1000 * nanoPerToken)
    const statuses = await Promise.all(Array.from({ length: 200 }, () => statusOf(ask(key))))
    expect(statuses.filter((status) => status === 200)).to.have.length(10)
    expect(statuses.filter((status) => status === 402)).to.have.length(190)
    expect(own.upstream.requests).to.have.length(10)
    const { budget } = await stateOf(key)
    expect(budget.spent.nano_usd).to.equal(await costs())
    expect(budget.reserved.nano_usd).to.equal(0)
    expect(await reservations()).to.deep.equal([])
  })

  it('are never exceeded by calls of different prices, streamed or not', async () => {
    const amount = 10 * 1000 * nanoPerToken
    const key = await keyWith(amount, 'day')
    const calls = Array.from({ length: 120 }, (_, at) =>
      statusOf(ask(key, 100 + 400 * (at % 7), at % 3 === 0 ? { stream: true } : {})),
    )
    await Promise.all(calls)
    const { budget } = await stateOf(key)
    expect(budget.spent.nano_usd).to.equal(await costs())
    expect(budget.spent.nano_usd).to.be.within(1, amount)
    expect(budget.left.nano_usd).to.equal(amount - budget.spent.nano_usd)
    expect(await reservations()).to.deep.equal([])
  })

  it('of account and key must both cover a call, or neither holds money', async () => {
    const key = await keyWith(nanoPerUsd)
    await setBudgetOfAccount(own.gateway, { nanoUsd: 0, period: 'total' })
    const refused = await ask(key)
    const { error } = (await refused.json()) as { error: { budget: State; message: string } }
    expect(refused.status).to.equal(402)
    expect(error.budget.owner_id).to.match(/^acc_/)
    expect(error.budget.renews_at).to.equal(null)
    expect(error.message).to.include('the account').and.include('does not renew')
    expect((await stateOf(key)).budget.reserved.nano_usd).to.equal(0)
    await setBudgetOfAccount(own.gateway, { nanoUsd: nanoPerUsd, period: 'total' })
    expect(await statusOf(ask(key))).to.equal(200)
    const state = await stateOf(key)
    expect(state.account.budget!.spent.nano_usd).to.equal(await costs())
    expect(state.budget.spent.nano_usd).to.equal(await costs())
  })

  it('count money spent before they were set, or before their period changed', async () => {
    const key = await own.gateway.createKey('live')
    expect(await statusOf(ask(key))).to.equal(200)
    for (const period of ['day', 'month', 'total'] as const) {
      await setBudgetOfKey(own.gateway, key, { nanoUsd: nanoPerUsd, period })
      expect((await stateOf(key)).budget.spent.nano_usd).to.equal(await costs())
    }
    await setBudgetOfKey(own.gateway, key, { nanoUsd: await costs(), period: 'month' })
    expect(await statusOf(ask(key))).to.equal(402)
    await setBudgetOfKey(own.gateway, key, null)
    expect(await statusOf(ask(key))).to.equal(200)
  })

  it('renew with the UTC day and month; a call counts in the period of its start', async () => {
    const hurried = { ...bounds, budgetWaitMaxMs: 20 }
    await using alone = await startOwnEndpoint({ file, bounds: hurried, clock: () => now })
    own = alone
    const key = await keyWith(1.5 * 1000 * nanoPerToken, 'month')
    const held = Promise.withResolvers<void>()
    const usage = { prompt_tokens: 9, completion_tokens: 1000, total_tokens: 1009 }
    own.upstream.answer({ ...completion('Hi.', { usage }), after: held.promise })
    const first = statusOf(ask(key))
    while ((await reservations()).length === 0)
      await new Promise((resolve) => setImmediate(resolve))
    expect(await statusOf(ask(key))).to.equal(429)
    expect(await statusOf(ask(key, 2000))).to.equal(402)
    expect((await stateOf(key)).budget.renews_at).to.equal('2026-12-01T00:00:00.000Z')
    now += 3_600_000
    expect((await stateOf(key)).budget.reserved.nano_usd).to.equal(0)
    held.resolve()
    expect(await first).to.equal(200)
    expect((await stateOf(key)).budget.spent.nano_usd).to.equal(0)
    now -= 3_600_000
    expect((await stateOf(key)).budget.spent.nano_usd).to.equal(await costs())
  })

  it('regain the money that failed calls held', async () => {
    const key = await keyWith(1.5 * 1000 * nanoPerToken)
    own.upstream.answer({ status: 500, body: { error: { message: 'broken' } } })
    expect(await statusOf(ask(key))).to.equal(502)
    const { budget } = await stateOf(key)
    expect([budget.reserved.nano_usd, budget.spent.nano_usd]).to.deep.equal([0, 0])
  })

  it('are charged once for identical calls, and an exhausted one fails only its own call', async () => {
    const poor = await keyWith(0)
    const rich = await keyWith(1.5 * 1000 * nanoPerToken)
    const body = { model: 'gpt-5-mini', messages: hello, max_completion_tokens: 1000 }
    const together = (key: string) =>
      statusOf(own.gateway.post('/v1/chat/completions', body, { key }))
    const statuses = await Promise.all([together(poor), together(rich), together(rich)])
    expect(statuses.slice(1)).to.deep.equal([200, 200])
    expect(own.upstream.requests).to.have.length(1)
    expect(await statusOf(own.gateway.post('/v1/chat/completions', body, { key: poor }))).to.equal(
      200,
    )
  })

  it('allow free models, and refuse models without a known price', async () => {
    const key = await keyWith(0)
    const unpriced = await ask(key, 10, { model: 'own/house-1' })
    const { error } = (await unpriced.json()) as { error: { code: string; message: string } }
    expect(unpriced.status).to.equal(403)
    expect(error.code).to.equal('model_not_allowed')
    expect(error.message).to.match(/^The price of 'own\/house-1' is unknown/)
    await setBudgetOfAccount(own.gateway, { nanoUsd: 0, period: 'total' })
    expect(await statusOf(ask(own.gateway.testKey))).to.equal(200)
    expect((await own.gateway.fetch('/v1/models', { key })).status).to.equal(200)
  })

  it('charge the held amount for a call of unknown cost', async () => {
    const key = await keyWith(nanoPerUsd)
    const usage = { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 }
    const { body } = completion('Hi.', { usage })
    own.upstream.answer({ body: { ...(body as object), service_tier: 'never-heard-of' } })
    expect(await statusOf(ask(key))).to.equal(200)
    const [row] = await own.gateway.usage()
    expect(row!.cost_status).to.equal('unknown')
    const { budget } = await stateOf(key)
    expect(budget.spent.nano_usd).to.be.at.least(1000 * nanoPerToken)
    // On PostgreSQL a busy process returns leased money at its next look.
    await until('nothing is reserved', async () => {
      const { reserved } = (await stateOf(key)).budget
      return reserved.nano_usd === 0
    })
  })
})
