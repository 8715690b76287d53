import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { digestOf } from '../../src/accounts/api-key.ts'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { keyCalls } from '../support/key-calls.ts'

type Page = components['schemas']['ApiKeyList']

forEachStore('a client of an account', () => {
  let gateway: TestGateway
  const begin = Date.parse('2026-11-22T12:00:00Z')
  let now = begin
  before(async () => {
    const bounds = { keyCacheMs: 0 }
    gateway = await startGateway({ clock: () => now, bounds })
  })
  after(() => gateway.stop())
  beforeEach(() => void (now = begin))
  const calls = () => keyCalls(gateway)
  const made = (settings: object = {}) =>
    calls().made(gateway.adminKey, { kind: 'client', ...settings })
  const clientRow = (id: string) =>
    gateway.db
      .selectFrom('oauth_clients')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow()

  it('is returned once with its id and secret; only the digest is stored', async () => {
    const settings = {
      name: 'nightly',
      models: ['gpt-5-mini'],
      allowed_addresses: ['10.0.0.0/8'],
      limits: { concurrency: 1 },
      budget: { usd: '2', period: 'day' },
    }
    const client = await made(settings)
    expect(client).to.deep.include({ kind: 'client', name: 'nightly', scopes: ['inference'] })
    expect(client.client).to.deep.equal({
      id: client.client_id,
      name: 'nightly',
      redirect_host: null,
    })
    expect(client.client_id).to.match(/^client_[0-9a-f]{32}$/)
    expect(client.client_secret).to.match(/^mag_secret_[\w-]{49}$/)
    expect(client.key).to.equal(client.client_secret)
    const answer = await gateway.fetch('/api/keys?kind=client', { key: gateway.adminKey })
    const { data } = (await answer.json()) as Page
    const { key: _key, client_id: id, client_secret: secret, ...shown } = client
    expect(data).to.deep.include(shown)
    expect(shown.hint).to.equal(`mag_secret_…${secret!.slice(-4)}`)
    const row = await clientRow(id!)
    expect(row).to.deep.include({ key_id: client.id, secret_digest: digestOf(secret!) })
    expect(JSON.parse(row.metadata)).to.deep.include({ grant_types: ['client_credentials'] })
    const tables = await Promise.all(
      (['api_keys', 'oauth_clients', 'audit_events'] as const).map((name) =>
        gateway.db.selectFrom(name).selectAll().execute(),
      ),
    )
    expect(JSON.stringify(tables)).to.not.contain(secret!.slice(11))
  })

  it('cannot call models with its secret, and the error names its purpose', async () => {
    const { client_secret: secret } = await made()
    const refused = await gateway.fetch('/v1/models', { key: secret! })
    const { message } = await expectError(refused, { status: 401, code: 'invalid_api_key' })
    expect(message).to.contain('/oauth/token').and.not.contain(secret!)
  })

  it('gets a new secret under the same id; the old secret works during the overlap', async () => {
    const first = await made({ limits: { concurrency: 3 } })
    const next = await calls().rotated(gateway.adminKey, first.id, 10)
    expect(next.client_id).to.equal(first.client_id)
    expect(next.client_secret).to.not.equal(first.client_secret)
    expect(next).to.deep.include({ kind: 'client', limits: first.limits, client: first.client })
    expect(await clientRow(first.client_id!)).to.deep.include({
      key_id: next.id,
      secret_digest: digestOf(next.client_secret!),
    })
    const state = async () => {
      const answer = await gateway.fetch(`/api/keys/${first.id}`, { key: gateway.adminKey })
      return ((await answer.json()) as components['schemas']['ApiKey']).state
    }
    expect(await state()).to.equal('active')
    now += 10 * 60_000
    expect(await state()).to.equal('expired')
    const again = await calls().rotate(gateway.adminKey, first.id)
    await expectError(again, { status: 409, code: 'key_not_active' })
  })

  it('cannot administer anything', async () => {
    const { make, change } = calls()
    const refusal = { status: 400, code: 'invalid_value', param: 'scopes' }
    for (const scope of ['admin', 'usage:read', 'keys:write']) {
      const scopes = ['inference', scope]
      await expectError(await make(gateway.adminKey, { kind: 'client', scopes }), refusal)
      const { id } = await made({ scopes: ['inference'] })
      await expectError(await change(gateway.adminKey, id, { scopes }), refusal)
    }
    const connection = await make(gateway.adminKey, { kind: 'connection' })
    await expectError(connection, { status: 400, code: 'invalid_value', param: 'kind' })
  })

  it('is limited by the key that creates it', async () => {
    const bounds = { models: ['gpt-5-mini'], row: { concurrency: 2 } }
    const issuer = await gateway.createKey('test', {
      scopes: ['inference', 'keys:write'],
      ...bounds,
    })
    const client = await calls().made(issuer, { kind: 'client' })
    expect(client).to.deep.include({ models: ['gpt-5-mini'] })
    expect(client.limits.concurrency).to.equal(2)
    const live = await calls().make(issuer, { kind: 'client', mode: 'live' })
    await expectError(live, { status: 403, code: 'insufficient_scope', param: 'mode' })
  })
})
