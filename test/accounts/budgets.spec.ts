import { expect } from 'chai'
import { completion } from '../support/chat-answers.ts'
import { nanoPerUsd, setBudgetOfKey } from '../support/budgets.ts'
import { hello, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'

describe('a budget', () => {
  let own: OwnEndpoint
  beforeEach(async () => {
    own = await startOwnEndpoint({ file: { routes: { 'gpt-5-mini': ['own/house-1'] } } })
  })
  afterEach(() => own.stop())

  const ask = (key: string, more: object = {}) =>
    own.gateway.post(
      '/v1/chat/completions',
      { model: 'gpt-5-mini', messages: hello, max_completion_tokens: 1000, ...more },
      { key, headers: { 'cache-control': 'no-store' } },
    )
  const told = async (key: string) =>
    (await (await own.gateway.fetch('/api/key', { key })).json()) as {
      budget: { spent: { nano_usd: number } } | null
    }

  it('is held before a call, and settled by its row', async () => {
    const key = await own.gateway.createKey('live')
    await setBudgetOfKey(own.gateway, key, { nanoUsd: nanoPerUsd, period: 'month' })
    own.upstream.answer(completion('Hi.'))
    expect((await ask(key)).status).to.equal(200)
    const [row] = await own.gateway.usage()
    expect((await told(key)).budget!.spent.nano_usd).to.equal(row!.cost_nano_usd)
    const poor = await own.gateway.createKey('live')
    await setBudgetOfKey(own.gateway, poor, { nanoUsd: 1000, period: 'day' })
    const refused = await ask(poor)
    expect(refused.status).to.equal(402)
  })
})
