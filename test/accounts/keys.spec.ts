import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { keyCalls } from '../support/key-calls.ts'
import { hello } from '../support/own-endpoint.ts'
import { until } from '../support/until.ts'
import { forEachStore } from '../support/each-store.ts'

type ApiKey = components['schemas']['ApiKey']
type Page = components['schemas']['ApiKeyList']
type AuditEvent = components['schemas']['AuditEvent']

const begin = Date.parse('2026-11-22T12:00:00Z')
const minuteMs = 60_000
const ended = { status: 409, code: 'key_not_active' }

forEachStore('keys under /api', () => {
  let gateway: TestGateway
  let admin: string
  let accountId: string
  let calls: ReturnType<typeof keyCalls>
  let now = begin
  before(async () => {
    gateway = await startGateway({
      clock: () => now,
      bounds: { keyCacheMs: 0, keyUseWriteMs: 100 },
    })
    calls = keyCalls(gateway)
  })
  after(() => gateway.stop())
  beforeEach(async () => {
    now = begin
    accountId = await gateway.createAccount()
    admin = await gateway.createKey('test', { scopes: ['inference', 'admin'], accountId })
  })
  const made = (settings: object = {}) => calls.made(admin, settings)
  const chat = (key: string) =>
    gateway.post('/v1/chat/completions', { model: 'gpt-5-mini', messages: hello }, { key })
  const statusOf = async (key: string) => (await gateway.fetch('/v1/models', { key })).status
  const get = async <T>(path: string, key = admin) => {
    const answer = await gateway.fetch(path, { key })
    expect(answer.status, path).to.equal(200)
    return (await answer.json()) as T
  }
  const retrieve = (id: string) => get<ApiKey>(`/api/keys/${id}`)
  const audit = async (id: string) =>
    (await get<{ data: AuditEvent[] }>(`/api/audit?target=${id}&order=asc`)).data

  describe('that are replaced', () => {
    it('work alongside their replacement until the overlap ends', async () => {
      const settings = { limits: { concurrency: 3 }, models: ['gpt-5-mini'] }
      const old = await made(settings)
      const fresh = await (await calls.rotate(admin, old.id, 5)).json()
      const { id, key } = fresh as { id: string; key: string }
      expect(fresh).to.deep.include({
        models: ['gpt-5-mini'],
        limits: old.limits,
        expires_at: null,
      })
      expect(await retrieve(old.id)).to.deep.include({
        replaced_by: id,
        expires_at: new Date(now + 5 * minuteMs).toISOString(),
        state: 'active',
      })
      expect([await statusOf(old.key), await statusOf(key)]).to.deep.equal([200, 200])
      now += 5 * minuteMs - 1
      expect([await statusOf(old.key), await statusOf(key)]).to.deep.equal([200, 200])
      now += 1
      await expectError(await chat(old.key), { status: 401, code: 'expired_api_key' })
      expect(await statusOf(key)).to.equal(200)
      expect(await retrieve(old.id)).to.include({ state: 'expired' })
    })

    it('end at once without an overlap', async () => {
      const old = await made()
      expect((await calls.rotate(admin, old.id, 0)).status).to.equal(201)
      expect(await statusOf(old.key)).to.equal(401)
    })

    it('never expire later than before', async () => {
      const end = new Date(now + minuteMs).toISOString()
      const old = await made({ expires_at: end })
      await calls.rotate(admin, old.id, 60)
      expect((await retrieve(old.id)).expires_at).to.equal(end)
    })

    it('are replaced once by concurrent requests', async () => {
      const old = await made()
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => calls.rotate(admin, old.id)),
      )
      expect(answers.map(({ status }) => status)).to.have.members([201, 409, 409, 409, 409])
      const { data } = await get<Page>('/api/keys')
      expect(data).to.have.length(3)
    })

    it('must not be revoked, expired or already replaced', async () => {
      const expiring = await made({ expires_at: new Date(now + minuteMs).toISOString() })
      const [revoked, replaced] = [await made(), await made()]
      await calls.revoke(admin, revoked.id)
      await calls.rotate(admin, replaced.id)
      now += minuteMs
      for (const { id } of [expiring, revoked, replaced]) {
        await expectError(await calls.rotate(admin, id), ended)
      }
    })
  })

  it('keep both of two concurrent changes', async () => {
    const { id } = await made()
    const end = new Date(now + minuteMs).toISOString()
    const changes = [
      { name: 'other' },
      { limits: { concurrency: 1 } },
      { limits: { images_per_minute: 0 } },
      { models: ['GPT-5-mini'] },
      { budget: { usd: '0', period: 'day' } },
      { expires_at: end },
      { allowed_addresses: ['10.0.0.0/8'] },
      { scopes: ['usage:read', 'inference', 'usage:read'] },
    ]
    const answers = await Promise.all(changes.map((one) => calls.change(admin, id, one)))
    expect(answers.map(({ status }) => status)).to.deep.equal(changes.map(() => 200))
    const none = { usd: '0', nano_usd: 0 }
    expect(await retrieve(id)).to.deep.include({
      name: 'other',
      limits: {
        requests_per_minute: null,
        tokens_per_minute: null,
        images_per_minute: 0,
        concurrency: 1,
      },
      models: ['gpt-5-mini'],
      budget: {
        owner_id: id,
        amount: none,
        period: 'day',
        spent: none,
        reserved: none,
        left: none,
        renews_at: '2026-11-23T00:00:00.000Z',
      },
      expires_at: end,
      allowed_addresses: ['10.0.0.0/8'],
      scopes: ['usage:read', 'inference'],
    })
    expect(await audit(id)).to.have.length(1 + changes.length)
  })

  it('lose a restriction when it is set to null', async () => {
    const none = { models: null, allowed_addresses: null, expires_at: null, budget: null }
    const { id } = await made({
      models: ['gpt-5-mini'],
      allowed_addresses: ['10.0.0.0/8'],
      expires_at: new Date(now + minuteMs).toISOString(),
      budget: { usd: '1', period: 'day' },
      limits: { concurrency: 1, requests_per_minute: 2 },
    })
    const answer = await calls.change(admin, id, { ...none, limits: { concurrency: null } })
    expect(answer.status).to.equal(200)
    const key = await retrieve(id)
    expect(key).to.deep.include(none)
    expect(key.limits).to.include({ concurrency: null, requests_per_minute: 2 })
  })

  it('are revoked once; a second DELETE changes nothing', async () => {
    const { id, key } = await made()
    const first = (await (await calls.revoke(admin, id)).json()) as ApiKey
    expect(first).to.include({ state: 'revoked', revoked_at: new Date(now).toISOString() })
    expect(await statusOf(key)).to.equal(401)
    now += minuteMs
    const second = await calls.revoke(admin, id)
    expect(second.status).to.equal(200)
    expect(await second.json()).to.deep.equal(first)
    expect((await audit(id)).map(({ action }) => action)).to.deep.equal([
      'key.create',
      'key.revoke',
    ])
  })

  it('with a limit or a budget of 0 allow no calls', async () => {
    const none = await made({ limits: { requests_per_minute: 0 } })
    await expectError(await chat(none.key), { status: 429, code: 'rate_limit_exceeded' })
    const idle = await made({ limits: { concurrency: 0 } })
    expect((await chat(idle.key)).status).to.equal(429)
    const budget = { usd: '0', period: 'total' }
    const { key } = await made({ mode: 'live', budget })
    expect(await get(`/api/key`, key)).to.have.nested.property('budget.left.nano_usd', 0)
  })

  it('return their secret once, in a response that no cache may store', async () => {
    const created = await calls.make(admin)
    const { id, key } = (await created.json()) as { id: string; key: string }
    const rotated = await calls.rotate(admin, id)
    const { key: successor } = (await rotated.json()) as { key: string }
    for (const { headers } of [created, rotated]) {
      expect(headers.get('cache-control')).to.equal('no-store')
    }
    await calls.change(admin, id, { name: 'renamed' })
    await calls.revoke(admin, id)
    await chat(successor)
    const later = [
      await get(`/api/keys/${id}`),
      await get('/api/keys'),
      await get('/api/audit'),
      await get('/api/key', successor),
      await gateway.db.selectFrom('audit_events').selectAll().execute(),
      await gateway.db.selectFrom('api_keys').selectAll().execute(),
    ]
    const text = JSON.stringify(later) + gateway.logText()
    expect(text).to.include(id)
    for (const secret of [key, successor]) {
      for (const part of [secret.slice(9, 30), secret.slice(30, 52)]) {
        expect(text).to.not.include(part)
      }
    }
  })

  it('show when they were last used', async () => {
    const { id, key, last_used_at: unused } = await made()
    expect(unused).to.equal(null)
    now += minuteMs
    expect(await statusOf(key)).to.equal(200)
    const at = new Date(now).toISOString()
    expect((await retrieve(id)).last_used_at).to.equal(at)
    await until('the use is written', async () => (await calls.rowOf(key)).last_used_at === now)
    now += minuteMs
    await calls.revoke(admin, id)
    await statusOf(key)
    expect((await retrieve(id)).last_used_at).to.equal(at)
  })

  it('have each change in the audit log, with the values before and after', async () => {
    const { id } = await made({ name: 'first', limits: { concurrency: 2 } })
    now += 1
    await calls.change(admin, id, { name: 'second', limits: { concurrency: 2 } })
    await calls.change(admin, id, { name: 'second' })
    now += 1
    const { id: next } = (await (await calls.rotate(admin, id, 1)).json()) as ApiKey
    const end = new Date(now + minuteMs).toISOString()
    now += 1
    await calls.revoke(admin, id)
    const { id: by } = await calls.rowOf(admin)
    const events = await audit(id)
    const acts = events.map(({ action, before: old, after: fresh }) => [action, old, fresh])
    expect(events.every((event) => event.by === by && event.address === '127.0.0.1')).to.equal(true)
    expect(acts[0]![2]).to.deep.include({ name: 'first', mode: 'test', models: null })
    expect(acts.slice(1)).to.deep.equal([
      ['key.update', { name: 'first' }, { name: 'second' }],
      [
        'key.rotate',
        { replaced_by: null, expires_at: null },
        { replaced_by: next, expires_at: end },
      ],
      ['key.revoke', { revoked_at: null }, { revoked_at: new Date(now).toISOString() }],
    ])
  })

  it('check the budgets of tags, and have them in the audit log', async () => {
    const budget = (tag: string, usd: string, period = 'month') => ({
      tag,
      budget: { usd, period },
    })
    const wrong = [
      [[budget('a', '1'), budget('a', '2')], 'tag_budgets[1].tag'],
      [[budget('a b', '1')], 'tag_budgets[0].tag'],
      [[budget('', '1')], 'tag_budgets[0].tag'],
      [[budget('x'.repeat(65), '1')], 'tag_budgets[0].tag'],
      [[budget('a', '-1')], 'tag_budgets[0].budget.usd'],
      [Array.from({ length: 9 }, (_, at) => budget(`t${at}`, '1')), 'tag_budgets'],
    ] as const
    for (const [tag_budgets, param] of wrong)
      await expectError(await calls.make(admin, { tag_budgets }), {
        status: 400,
        code: 'invalid_value',
        param,
      })
    const { id } = await made({ tag_budgets: [budget('a', '1')] })
    now += 1
    await calls.change(admin, id, { name: 'renamed' })
    now += 1
    await calls.change(admin, id, { tag_budgets: [budget('b', '2', 'day')] })
    const form = (tag: string, usd: string, period: string) => ({
      tag_budgets: [{ tag, budget: { amount: { usd, nano_usd: Number(usd) * 1e9 }, period } }],
    })
    const [, renamed, changed] = await audit(id)
    expect(renamed!.after).to.deep.equal({ name: 'renamed' })
    expect(changed!.before).to.deep.equal(form('a', '1', 'month'))
    expect(changed!.after).to.deep.equal(form('b', '2', 'day'))
  })
})
