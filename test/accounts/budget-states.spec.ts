import { expect } from 'chai'
import { readStatesOf } from '../../src/accounts/budget-states.ts'
import type { components } from '../../generated/types.ts'
import { forEachStore } from '../support/each-store.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { usageRow } from '../support/usage-row.ts'

type Schemas = components['schemas']
type Key = Schemas['ApiKey']

const now = Date.parse('2026-11-22T12:00:00Z')
const hourMs = 3_600_000
const nanoPerUsd = 1_000_000_000

forEachStore('the state of a budget', () => {
  let gateway: TestGateway
  let accountId: string
  beforeEach(async () => {
    gateway = await startGateway({
      clock: () => now,
      // Configures a provider, which is never called, because the gateway checks the budget first.
      variables: { OPENAI_API_KEY: 'sk-not-one-of-theirs-000000000000' },
      bounds: { keyCacheMs: 0 },
    })
    accountId = await gateway.createAccount()
  })
  afterEach(() => gateway.stop())

  const asked = async <T>(path: string, init: RequestInit = {}): Promise<T> => {
    const headers = { 'content-type': 'application/json' }
    const answer = await gateway.fetch(path, { ...init, headers, key: gateway.adminKey })
    expect(answer.status, await answer.clone().text()).to.be.below(300)
    return (await answer.json()) as T
  }
  const send = (method: string, body: object) => ({ method, body: JSON.stringify(body) })
  const here = () => `account_id=${accountId}`
  const made = (budget: Schemas['NewBudget'] | null, name = 'a key') =>
    asked<Schemas['CreatedApiKey']>(
      `/api/keys?${here()}`,
      send('POST', { name, mode: 'live', budget }),
    )
  const one = ({ id }: { id: string }) => asked<Key>(`/api/keys/${id}?${here()}`)
  const listed = async () => (await asked<Schemas['ApiKeyList']>(`/api/keys?${here()}`)).data
  let spent = 0
  const spend = (keyId: string, nanoUsd: number, at = now) => {
    const paid = { mode: 'live', account_id: accountId, key_id: keyId, cost_nano_usd: nanoUsd }
    return gateway.addUsage([{ ...usageRow(`req_${++spent}`, at), ...paid }])
  }
  const reserve = (keyId: string, nanoUsd: number) =>
    gateway.db
      .insertInto('reservations')
      .values({
        request_id: `req_${++spent}`,
        account_id: accountId,
        key_id: keyId,
        nano_usd: nanoUsd,
        at: now,
        expires_at: now + hourMs,
        process: null,
      })
      .execute()

  it('is reported for each key that has a budget', async () => {
    const [daily, monthly, total, none] = await Promise.all([
      made({ usd: '10', period: 'day' }),
      made({ usd: '10', period: 'month' }),
      made({ usd: '10', period: 'total' }),
      made(null),
    ])
    const before = [now, now - 24 * hourMs, now - 40 * 24 * hourMs]
    for (const { id } of [daily, monthly, total, none]) {
      for (const at of before) await spend(id, 1_250_000_001, at)
      await reserve(id, 750_000_000)
    }
    const states = new Map((await listed()).map(({ id, budget }) => [id, budget]))
    const expected = [
      [daily, '1.250000001', '7.999999999', '2026-11-23T00:00:00.000Z'],
      [monthly, '2.500000002', '6.749999998', '2026-12-01T00:00:00.000Z'],
      [total, '3.750000003', '5.499999997', null],
    ] as const
    for (const [{ id }, spentUsd, leftUsd, renewsAt] of expected) {
      const state = states.get(id)!
      expect(state.spent.usd).to.equal(spentUsd)
      expect(state.left.usd).to.equal(leftUsd)
      expect(state.reserved).to.deep.equal({ usd: '0.75', nano_usd: 750_000_000 })
      expect(state).to.include({ owner_id: id, renews_at: renewsAt })
      expect((await one({ id })).budget).to.deep.equal(state)
    }
    expect(states.get(none.id)).to.equal(null)
  })

  it('counts all keys of an account, and a key together with its replacement', async () => {
    const first = await made({ usd: '10', period: 'month' })
    const other = await made({ usd: '10', period: 'month' })
    const second = await asked<Schemas['CreatedApiKey']>(
      `/api/keys/${first.id}/rotate?${here()}`,
      send('POST', {}),
    )
    await spend(first.id, nanoPerUsd)
    await spend(second.id, 2 * nanoPerUsd)
    await spend(other.id, 4 * nanoPerUsd)
    for (const { id } of [first, second]) {
      const { budget } = await one({ id })
      expect(budget).to.deep.include({ owner_id: first.id, spent: amount(3), left: amount(7) })
    }
    expect(second.budget).to.deep.include({ owner_id: first.id })
    const budget = { usd: '5', period: 'month' }
    const changed = await asked<Schemas['Account']>(
      `/api/accounts/${accountId}`,
      send('PATCH', { budget }),
    )
    // More was spent than the lowered budget allows; `left` is 0, never negative.
    expect(changed.budget).to.deep.include({ spent: amount(7), left: amount(0) })
    const { data } = await asked<Schemas['AccountList']>('/api/accounts')
    expect(data.find(({ id }) => id === accountId)!.budget).to.deep.equal(changed.budget)
  })

  it('is the same before and after a call opened its window, and reading it writes nothing', async () => {
    const key = await made({ usd: '1', period: 'month' })
    await spend(key.id, 400_000_000)
    const before = (await one(key)).budget
    const windows = () => gateway.db.selectFrom('budget_windows').selectAll().execute()
    expect(await windows()).to.deep.equal([])
    const body = { model: 'gpt-image-2', prompt: 'a lighthouse', n: 10, quality: 'high' }
    const refused = await gateway.post('/v1/images/generations', body, { key: key.key })
    expect(refused.status).to.equal(402)
    const { error } = (await refused.json()) as Schemas['ErrorResponse']
    expect(error.budget).to.deep.equal(before)
    expect(await windows()).to.have.length(1)
    await spend(key.id, 100_000_000)
    expect((await one(key)).budget!.spent.nano_usd).to.equal(500_000_000)
  })

  it('is read with the same number of queries for many keys as for one', async () => {
    for (let at = 0; at < 8; at++) {
      const { id } = await made({ usd: '1', period: at % 2 === 0 ? 'day' : 'month' }, `key ${at}`)
      await spend(id, at)
    }
    const rows = await gateway.db
      .selectFrom('api_keys')
      .selectAll()
      .where('account_id', '=', accountId)
      .execute()
    let queries = 0
    const counted = gateway.db.withPlugin({
      transformQuery: ({ node }) => {
        queries++
        return node
      },
      transformResult: async ({ result }) => result,
    })
    const states = await readStatesOf(counted, rows, now)
    expect(states.map((state) => state?.spent.nano_usd)).to.have.members([0, 1, 2, 3, 4, 5, 6, 7])
    // One query reads open windows; one query per period without an open window reads the sums.
    expect(queries).to.equal(3)
  })
})

function amount(usd: number) {
  return { usd: String(usd), nano_usd: usd * nanoPerUsd }
}
