import { expect } from 'chai'
import type { Scope } from '../../src/core/caller.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { keyCalls } from '../support/key-calls.ts'
import type { StoredKey } from '../support/keys.ts'
import { forEachStore } from '../support/each-store.ts'

const today = Date.parse('2026-11-22T12:00:00Z')
const dayMs = 86_400_000
const timeIn = (days: number) => new Date(today + days * dayMs).toISOString()
const giving: Scope[] = ['inference', 'keys:write']
const refused = { status: 403, code: 'insufficient_scope' }

/** The settings of a key that has a restriction of each kind. */
const restricted: StoredKey = {
  scopes: giving,
  models: ['gpt-5-mini', 'gpt-5.4'],
  networks: ['127.0.0.0/8'],
  expiresAt: today + 10 * dayMs,
  row: { requests_per_minute: 10, budget_nano_usd: 2_000_000_000, budget_period: 'month' },
}

/** Settings that a restricted key must not grant, each with the parameter that the error names. */
const wider: [param: string, settings: object][] = [
  ['scopes', { scopes: ['inference', 'usage:read'] }],
  ['scopes', { scopes: ['admin'] }],
  ['models', { models: null }],
  ['models', { models: ['gpt-5-mini', 'GPT_5.2'] }],
  ['models', { models: ['auto'] }],
  ['allowed_addresses', { allowed_addresses: null }],
  ['allowed_addresses', { allowed_addresses: ['127.0.0.1', '10.0.0.1'] }],
  ['allowed_addresses', { allowed_addresses: ['126.0.0.0/7'] }],
  ['allowed_addresses', { allowed_addresses: ['::ffff:0:0/96'] }],
  ['allowed_addresses', { allowed_addresses: ['::/0'] }],
  ['expires_at', { expires_at: null }],
  ['expires_at', { expires_at: timeIn(11) }],
  ['limits', { limits: { requests_per_minute: null } }],
  ['limits', { limits: { requests_per_minute: 11 } }],
  ['budget', { budget: null }],
  ['budget', { budget: { usd: '2.000000001', period: 'month' } }],
  ['budget', { budget: { usd: '1', period: 'day' } }],
  ['budget', { budget: { usd: '1', period: 'total' } }],
]

/** Settings that a restricted key may grant. */
const narrower: object[] = [
  {},
  { scopes: ['inference'], models: ['openai/GPT-5-mini'], allowed_addresses: ['127.1.0.0/16'] },
  { expires_at: timeIn(9), limits: { requests_per_minute: 0, images_per_minute: 7 } },
  { budget: { usd: '0', period: 'month' }, allowed_addresses: ['::ffff:127.0.0.1'] },
]

forEachStore('a key that creates keys', () => {
  let gateway: TestGateway
  let calls: ReturnType<typeof keyCalls>
  before(async () => {
    gateway = await startGateway({ clock: () => today, bounds: { keyCacheMs: 0 } })
    calls = keyCalls(gateway)
  })
  after(() => gateway.stop())

  for (const [param, settings] of wider) {
    it(`cannot grant more than it has: ${JSON.stringify(settings)}`, async () => {
      const key = await gateway.createKey('test', restricted)
      await expectError(await calls.make(key, settings), { ...refused, param })
      const { id } = await calls.made(key)
      await expectError(await calls.change(key, id, settings), { ...refused, param })
      const { id: own } = await calls.rowOf(key)
      await expectError(await calls.change(key, own, settings), { ...refused, param })
    })
  }

  for (const settings of narrower) {
    it(`can grant less than it has: ${JSON.stringify(settings)}`, async () => {
      const key = await gateway.createKey('test', restricted)
      await calls.made(key, settings)
      const { id } = await calls.made(key)
      const answer = await calls.change(key, id, settings)
      expect(answer.status, await answer.text()).to.equal(200)
    })
  }

  it('cannot create a live key if it is a test key', async () => {
    const key = await gateway.createKey('test', { scopes: giving })
    await expectError(await calls.make(key, { mode: 'live' }), { ...refused, param: 'mode' })
    const { id } = await calls.rowOf(gateway.liveKey)
    for (const answer of [
      await calls.rotate(key, id),
      await calls.revoke(key, id),
      await calls.change(key, id, {}),
    ])
      await expectError(answer, refused)
  })

  it('passes its own restrictions on by default', async () => {
    const key = await gateway.createKey('test', restricted)
    const [own, child] = [await calls.rowOf(key), await calls.rowOf((await calls.made(key)).key)]
    for (const column of [
      'allowed_models',
      'allowed_addresses',
      'expires_at',
      'requests_per_minute',
      'budget_nano_usd',
      'budget_period',
    ] as const)
      expect(child[column], column).to.equal(own[column])
    expect(child.counts_with).to.equal(own.id)
    expect(child.scopes).to.equal('["inference"]')
  })

  it('cannot change keys with more permissions, nor keys that do not share its budget', async () => {
    const key = await gateway.createKey('test', { scopes: giving })
    const limited = await gateway.createKey('test', { scopes: giving, row: { concurrency: 1 } })
    const above = [
      [key, await gateway.createKey('test', { scopes: ['admin'] })],
      [key, await gateway.createKey('test', { scopes: ['inference', 'usage:read'] })],
      [limited, await gateway.createKey('test')],
    ] as const
    for (const [issuer, target] of above) {
      const before = await calls.rowOf(target)
      const { id } = before
      await expectError(await calls.change(issuer, id, { name: 'mine' }), refused)
      await expectError(await calls.rotate(issuer, id), refused)
      await expectError(await calls.revoke(issuer, id), refused)
      expect(await calls.rowOf(target)).to.deep.equal(before)
    }
  })

  it('cannot rotate a key with more permissions', async () => {
    const key = await gateway.createKey('test', { scopes: giving, models: ['gpt-5-mini'] })
    const target = await gateway.createKey('test')
    const { id } = await calls.rowOf(target)
    await expectError(await calls.rotate(key, id), { ...refused, param: 'models' })
    expect(await calls.rowOf(target)).to.include({ replaced_by: null, expires_at: null })
  })

  it('cannot reactivate a revoked key', async () => {
    const key = await gateway.createKey('test', { scopes: giving })
    for (const issuer of [key, gateway.adminKey]) {
      const { id, key: ended } = await calls.made(issuer)
      expect((await calls.revoke(issuer, id)).status).to.equal(200)
      for (const settings of [{ expires_at: timeIn(1) }, { expires_at: null }, { name: 'again' }])
        await expectError(await calls.change(issuer, id, settings), {
          status: 409,
          code: 'key_not_active',
        })
      await expectError(await calls.change(issuer, id, { revoked_at: timeIn(1) }), {
        status: 400,
        code: 'unknown_parameter',
      })
      expect((await gateway.fetch('/v1/models', { key: ended })).status).to.equal(401)
    }
  })

  it('stops when its scope is removed, even while it is cached', async () => {
    await using knowing = await startGateway({ bounds: { keyCacheMs: 60_000 } })
    const key = await knowing.createKey('test', { scopes: giving })
    const { made, make, rowOf } = keyCalls(knowing)
    await made(key)
    const { id } = await rowOf(key)
    const set = (columns: { scopes: string } | { revoked_at: number }) =>
      knowing.db.updateTable('api_keys').set(columns).where('id', '=', id).execute()
    await set({ scopes: '["inference"]' })
    await expectError(await make(key), refused)
    await set({ revoked_at: today })
    await expectError(await make(key), { status: 401, code: 'invalid_api_key' })
  })
})
