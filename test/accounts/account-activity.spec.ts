import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { expectError } from '../support/expect-error.ts'
import { forEachStore } from '../support/each-store.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { usageRow } from '../support/usage-row.ts'

type Account = components['schemas']['Account']

const now = Date.parse('2026-11-22T12:00:00Z')

forEachStore('accounts with their activity', () => {
  let gateway: TestGateway
  let harbour: string
  before(async () => {
    gateway = await startGateway({ clock: () => now })
    const names = ['Harbour office', '100% Boats', 'boats_and\\co']
    const made: Account[] = []
    for (const name of names) {
      const answer = await gateway.post('/api/accounts', { name }, { key: gateway.adminKey })
      expect(answer.status).to.equal(201)
      made.push((await answer.json()) as Account)
    }
    harbour = made[0]!.id
    await gateway.people.signIn({ accountId: harbour })
    await gateway.people.signIn({ accountId: harbour, role: 'member' })
    await gateway.createKey('live', { accountId: harbour })
    const row = (id: string, at: string, more: object) => ({
      ...usageRow(`req_${id}`, Date.parse(at)),
      account_id: harbour,
      mode: 'live',
      cost_nano_usd: 1_500_000_000,
      ...more,
    })
    await gateway.addUsage([
      row('1', '2026-10-31T23:59:59Z', {}),
      row('2', '2026-11-01T00:00:00Z', {}),
      row('3', '2026-11-22T11:00:00Z', { outcome: 'failed', cost_nano_usd: 1 }),
      row('4', '2026-11-22T11:00:00Z', { mode: 'test' }),
    ])
  })
  after(() => gateway.stop())

  const list = async (query: string): Promise<Account[]> => {
    const answer = await gateway.fetch(`/api/accounts?${query}`, { key: gateway.adminKey })
    expect(answer.status, await answer.clone().text()).to.equal(200)
    return ((await answer.json()) as { data: Account[] }).data
  }
  const named = async (search: string) =>
    (await list(`search=${encodeURIComponent(search)}`)).map(({ name }) => name)

  const activity = {
    since: '2026-11-01T00:00:00.000Z',
    calls: 2,
    failed_calls: 1,
    spent: { usd: '1.500000001', nano_usd: 1_500_000_001 },
    members: 2,
    keys: 1,
  }

  it('include it on request, in lists and single responses', async () => {
    const rows = await list('include_activity=true')
    expect(rows.find(({ id }) => id === harbour)!.activity).to.deep.equal(activity)
    const boats = rows.find(({ name }) => name === '100% Boats')!.activity
    expect(boats).to.deep.include({ calls: 0, members: 0, keys: 0 })
    expect(boats!.spent).to.deep.equal({ usd: '0', nano_usd: 0 })
    const path = `/api/accounts/${harbour}?include_activity=true`
    const one = await gateway.fetch(path, { key: gateway.adminKey })
    expect(((await one.json()) as Account).activity).to.deep.equal(activity)
    expect((await list('')).every((account) => !('activity' in account))).to.equal(true)
  })

  it('are found by id or part of the name', async () => {
    expect(await named('hARBour')).to.deep.equal(['Harbour office'])
    expect(await named(harbour)).to.deep.equal(['Harbour office'])
    expect(await named('100%')).to.deep.equal(['100% Boats'])
    expect(await named('boats_')).to.deep.equal(['boats_and\\co'])
    expect(await named('\\')).to.deep.equal(['boats_and\\co'])
    expect(await named("' or 1=1 --")).to.deep.equal([])
  })

  it('of others are never found by an administrator of one account', async () => {
    const key = await gateway.createKey('live', { accountId: harbour, scopes: ['admin'] })
    const answer = await gateway.fetch('/api/accounts?search=boats&include_activity=true', { key })
    expect(((await answer.json()) as { data: unknown[] }).data).to.deep.equal([])
  })

  it('keep prompts of image jobs once an administrator says so, with an audit event', async () => {
    const admin = await gateway.people.signIn({ accountId: harbour, role: 'admin' })
    const member = await gateway.people.signIn({ accountId: harbour, role: 'member' })
    const change = (headers: Record<string, string>, body: object) =>
      gateway.fetch(`/api/accounts/${harbour}`, {
        method: 'PATCH',
        key: null,
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    const stored = async () => (await list('search=harbour'))[0]!.keeps_prompts
    expect(await stored()).to.equal(false)
    await expectError(await change(member.headers, { keeps_prompts: true }), {
      status: 403,
      code: 'insufficient_scope',
    })
    await expectError(await change(admin.headers, { keeps_prompts: 'yes' }), {
      status: 400,
      code: 'invalid_value',
      param: 'keeps_prompts',
    })
    expect(await stored()).to.equal(false)
    expect((await change(admin.headers, { keeps_prompts: true })).status).to.equal(200)
    expect(await stored()).to.equal(true)
    const audit = await gateway.fetch('/api/audit?limit=1', { key: null, headers: admin.headers })
    expect(await audit.json()).to.have.nested.include({
      'data[0].action': 'account.update',
      'data[0].before.keeps_prompts': false,
      'data[0].after.keeps_prompts': true,
    })
    expect((await change(admin.headers, { keeps_prompts: false })).status).to.equal(200)
    expect(await stored()).to.equal(false)
  })
})
