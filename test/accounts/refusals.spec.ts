import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { digestOf } from '../../src/accounts/api-key.ts'
import { forEachStore } from '../support/each-store.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { callTool, connectClient } from '../support/mcp-client.ts'

type Refusals = components['schemas']['Refusals']

const noon = Date.parse('2026-11-22T12:10:00Z')
const hourMs = 3_600_000
const chat = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Hello' }] }

forEachStore('refused calls', () => {
  let gateway: TestGateway
  let now = noon
  let accountId: string
  let reader: string
  beforeEach(async () => {
    now = noon
    gateway = await startGateway({
      clock: () => now,
      variables: { OPENAI_API_KEY: 'sk-of-no-account' },
      bounds: { keyCacheMs: 0 },
    })
    accountId = await gateway.createAccount()
    reader = await gateway.createKey('live', { accountId, scopes: ['usage:read'] })
  })
  afterEach(() => gateway.stop())

  const newKey = (options = {}) => gateway.createKey('test', { accountId, ...options })
  const ask = async (key: string, body: object = chat): Promise<number> => {
    const response = await gateway.post('/v1/chat/completions', body, { key })
    await response.text()
    return response.status
  }
  const read = async (query: Record<string, string> = {}, key = reader): Promise<Refusals> => {
    const path = `/api/refusals?${new URLSearchParams({ mode: 'test', ...query }).toString()}`
    const response = await gateway.fetch(path, { key })
    expect(response.status, await response.clone().text()).to.equal(200)
    return (await response.json()) as Refusals
  }
  const summary = ({ data }: Refusals) =>
    data.map(({ key, error_code: code, calls }) => [key?.id, code, calls])
  const idOf = async (key: string) => {
    const rows = gateway.db.selectFrom('api_keys').select('id').where('digest', '=', digestOf(key))
    return (await rows.executeTakeFirstOrThrow()).id
  }

  it('are counted by key and cause, with a remedy, and have no ledger row', async () => {
    const key = await newKey()
    expect(await ask(key)).to.equal(200)
    for (let time = 0; time < 3; time++) {
      now += 1000
      expect(await ask(key, { ...chat, model: 'no-such-model' })).to.equal(404)
    }
    const limited = await newKey()
    await gateway.allow({ requests_per_minute: 0 }, limited)
    for (const status of [429, 429]) expect(await ask(limited)).to.equal(status)
    const ended = await newKey({ expiresAt: now })
    expect(await ask(ended)).to.equal(401)

    const answer = await read()
    const [first, second] = [await idOf(key), await idOf(limited)]
    expect(summary(answer).slice(0, 2)).to.deep.equal([
      [first, 'model_not_found', 3],
      [second, 'rate_limit_exceeded', 2],
    ])
    expect(answer.data.map(({ error_code: code }) => code)).to.have.members([
      'model_not_found',
      'rate_limit_exceeded',
      'expired_api_key',
    ])
    expect(answer.data[0]!.key).to.deep.equal({ id: first, name: 'test key', kind: 'key' })
    expect(answer.data[0]!.remedy).to.match(/^Check the name of the model/)
    expect(answer).to.include({ calls: 6, has_more: false, from: '2026-10-23T13:00:00.000Z' })
    expect((await gateway.usage()).map(({ outcome }) => outcome)).to.deep.equal(['ok'])
    expect(summary(await read({ key_id: second }))).to.deep.equal([
      [second, 'rate_limit_exceeded', 2],
    ])
    expect(summary(await read({ mode: 'live' }))).to.deep.equal([])
  })

  it('of an exhausted budget are counted, for tools too', async () => {
    const key = await gateway.createKey('live', { accountId })
    await gateway.allow({ budget_nano_usd: 0, budget_period: 'total' }, key)
    expect(await ask(key)).to.equal(402)
    await callTool(await connectClient(gateway, key), 'chat', chat)
    const answer = await read({ mode: 'live' })
    expect(summary(answer)).to.deep.equal([[await idOf(key), 'insufficient_quota', 2]])
    expect(answer.data[0]!.remedy).to.match(/^Raise the budget/)
    expect(await gateway.usage()).to.deep.equal([])
  })

  it('do not include calls that a provider refused, which are errors in the ledger', async () => {
    const key = await newKey()
    const messages = [{ role: 'user', content: 'sandbox:status=429' }]
    expect(await ask(key, { ...chat, messages })).to.equal(429)
    expect(summary(await read())).to.deep.equal([])
    expect(await gateway.usage()).to.have.length(1)
  })

  it('with a key that does not exist are shown to operators', async () => {
    for (let time = 0; time < 2; time++) await ask('mag_test_wrong')
    expect(summary(await read())).to.deep.equal([])
    const answer = await read({}, gateway.adminKey)
    expect(summary(answer)).to.deep.equal([[undefined, 'invalid_api_key', 2]])
    expect(answer.calls).to.equal(0)
    const other = await gateway.createKey('live', { scopes: ['usage:read'], accountId })
    expect(summary(await read({}, other))).to.deep.equal([])
  })

  it('are counted per hour, across restarts, for thirty days', async () => {
    const key = await newKey()
    await gateway.allow({ requests_per_minute: 0 }, key)
    await ask(key)
    now += hourMs
    await ask(key)
    const id = await idOf(key)
    expect(summary(await read({ from: '2026-11-22T13:30:00Z' }))).to.deep.equal([
      [id, 'rate_limit_exceeded', 1],
    ])
    await using after = await startGateway({ clock: () => now, beside: gateway })
    const refused = await after.post('/v1/chat/completions', chat, { key })
    expect(refused.status).to.equal(429)
    const path = '/api/refusals?mode=test'
    const seen = (await (await after.fetch(path, { key: reader })).json()) as Refusals
    expect(summary(seen)).to.deep.equal([[id, 'rate_limit_exceeded', 3]])
    now += 31 * 24 * hourMs
    await ask(key)
    await read()
    expect(await gateway.db.selectFrom('refusals').selectAll().execute()).to.have.length(1)
  })

  it('are kept for `refusal_days`', async () => {
    await using brief = await startGateway({
      clock: () => now,
      file: { limits: { refusal_days: 2 } },
    })
    const counts: number[] = []
    for (const days of [0, 1, 1.9]) {
      now += days * 24 * hourMs
      const refused = await brief.post('/v1/chat/completions', chat, { key: 'mag_test_wrong' })
      expect(refused.status).to.equal(401)
      await brief.fetch('/api/refusals?mode=test', { key: brief.adminKey })
      counts.push((await brief.db.selectFrom('refusals').select('hour_at').execute()).length)
    }
    expect(counts).to.deep.equal([1, 2, 2])
  })

  it('are bounded in the store: the oldest hours of an account are removed', async () => {
    const key = await newKey()
    await gateway.allow({ requests_per_minute: 0 }, key)
    const hour = noon - (noon % hourMs)
    const rows = Array.from({ length: 5200 }, (_, at) => ({
      account_id: accountId,
      hour_at: hour - hourMs * (1 + Math.floor(at / 100)),
      key_id: `key_${at}`,
      error_code: 'rate_limit_exceeded',
      calls: 1,
      last_at: noon,
    }))
    for (let at = 0; at < rows.length; at += 100) {
      await gateway.db
        .insertInto('refusals')
        .values(rows.slice(at, at + 100))
        .execute()
    }
    await ask(key)
    await read()
    const kept = await gateway.db.selectFrom('refusals').select('hour_at').execute()
    expect(kept.length).to.be.within(4900, 5000)
    expect(kept.map(({ hour_at: at }) => at)).to.include(hour)
  })

  it('are bounded in memory by the number of keys and causes', async () => {
    await gateway.stop()
    const bounds = { keyCacheMs: 0, connectionLogWaitingMax: 2 }
    gateway = await startGateway({ clock: () => now, bounds })
    accountId = await gateway.createAccount()
    reader = await gateway.createKey('live', { accountId, scopes: ['usage:read'] })
    for (const at of [1, 2, 3]) {
      const key = await newKey({ name: `key ${at}` })
      await gateway.allow({ requests_per_minute: 0 }, key)
      for (const status of [429, 429]) expect(await ask(key)).to.equal(status)
    }
    const { data, calls } = await read()
    expect(data.map((one) => one.calls)).to.deep.equal([2, 2])
    expect(calls).to.equal(4)
  })
})
