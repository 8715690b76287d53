import { expect } from 'chai'
import type { StoreRefusal, GatewayError } from '../../../src/core/error.ts'
import type { Store } from '../../../src/storage/store.ts'
import { accountRow } from '../../support/callers.ts'
import { forEachStore } from '../../support/each-store.ts'
import {
  accountId,
  consent,
  oauthOf,
  personId,
  openOAuthStores,
  type OAuthStores,
} from '../../support/oauth-store.ts'

const admin = { id: 'command_line', address: null, scopes: ['admin'] as const }

forEachStore('the connections of clients', () => {
  let opened: OAuthStores
  let store: Store
  let oauth: ReturnType<typeof oauthOf>
  before(async () => {
    opened = await openOAuthStores()
    ;({ store } = opened)
    await store.db.insertInto('accounts').values(accountRow('acc_2')).execute()
  })
  after(() => opened.close())
  beforeEach(async () => {
    await opened.empty()
    oauth = oauthOf(store)
  })

  const connect = (more: Partial<typeof consent> | { by: { keyId: string } } = {}) =>
    oauth.connections.connect({ ...consent, ...more })
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      (error: GatewayError | StoreRefusal) => error.code,
    )
  const rowOf = (id: string) =>
    store.db.selectFrom('api_keys').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  const newKey = (more: object = {}) =>
    oauth.keys.create(admin, accountId, { name: 'theirs', mode: 'live', ...more })

  it('are keys with the name of the client, and are recorded in the audit log', async () => {
    const id = await connect()
    expect(await oauth.keys.retrieve({ id })).to.deep.include({
      account_id: accountId,
      name: 'Some client',
      mode: 'live',
      scopes: ['inference'],
      state: 'active',
      created_by: personId,
    })
    const { data } = await oauth.audit.list(
      { accountId, target: id },
      { limit: 10, order: 'asc', cursor: undefined },
    )
    expect(data).to.have.length(1)
    expect(data[0]).to.deep.include({ action: 'key.create', by: personId, address: '203.0.113.7' })
    expect(data[0]!.after).to.include({ kind: 'connection', client_id: 'client_1' })
  })

  it('are reused for the same client, person and account, with concurrent requests too', async () => {
    for (let round = 0; round < 100; round++) {
      const client = { id: `client ${round}`, name: 'c' }
      const ids = await Promise.all([1, 2, 3, 4].map(() => connect({ client })))
      expect(new Set(ids).size).to.equal(1)
    }
  })

  it('are new for another client, for a key holder, and after the old one ended', async () => {
    const first = await connect()
    const { id: keyId } = await newKey()
    const others = [
      await connect({ client: { id: 'client_2', name: 'Some client' } }),
      await connect({ by: { keyId } }),
    ]
    await oauth.keys.revoke(admin, { id: first })
    expect(new Set([first, ...others, await connect()]).size).to.equal(4)
  })

  it("belong only to the person's accounts", async () => {
    expect(await codeOf(connect({ accountId: 'acc_2' }))).to.equal('not_found')
    expect(await codeOf(connect({ by: { personId: 'usr_2' } }))).to.equal('not_found')
    const { id: keyId } = await newKey()
    expect(await codeOf(connect({ by: { keyId }, accountId: 'acc_2' }))).to.equal('not_found')
  })

  it('cannot be created with an ended key, a key without `inference`, or a connection', async () => {
    const ended = await newKey()
    await oauth.keys.revoke(admin, { id: ended.id })
    const reading = await newKey({ scopes: ['usage:read'] })
    const connection = await connect()
    const codes = await Promise.all(
      [ended.id, reading.id, connection, 'key_none'].map((keyId) =>
        codeOf(connect({ by: { keyId } })),
      ),
    )
    expect(codes).to.deep.equal([
      'invalid_api_key',
      'insufficient_scope',
      'invalid_api_key',
      'invalid_api_key',
    ])
  })

  it('follow changes of the key that they were created with', async () => {
    const expires_at = new Date(oauth.time.now + 3_600_000).toISOString()
    const { id: keyId } = await newKey({
      scopes: ['inference', 'admin'],
      models: ['a', 'b'],
      allowed_addresses: ['10.0.0.0/8'],
      limits: { requests_per_minute: 7 },
      budget: { usd: '5', period: 'day' },
      expires_at,
    })
    const id = await connect({ by: { keyId } })
    const settings = async (of: string) => {
      const {
        models,
        allowed_addresses,
        limits,
        budget,
        expires_at: end,
      } = await oauth.keys.retrieve({
        id: of,
      })
      return { models, allowed_addresses, limits, budget, end }
    }
    expect(await settings(id)).to.deep.equal(await settings(keyId))
    expect(await rowOf(id)).to.include({
      counts_with: keyId,
      scopes: '["inference"]',
      bound_to: keyId,
    })
    const change = {
      models: ['a'],
      limits: { requests_per_minute: 3 },
      budget: null,
      expires_at: null,
    }
    await oauth.keys.update(admin, { id: keyId }, change)
    expect(await settings(id)).to.deep.equal(await settings(keyId))
    await oauth.keys.update(admin, { id: keyId }, { scopes: ['usage:read'] })
    expect(await rowOf(id)).to.include({ scopes: '[]' })
  })

  it('end with that key, or when its overlap ends', async () => {
    const [revoked, rotated] = [await newKey(), await newKey()]
    const ids = [
      await connect({ by: { keyId: revoked.id } }),
      await connect({ by: { keyId: rotated.id } }),
    ] as const
    await oauth.keys.revoke(admin, { id: revoked.id })
    await oauth.keys.rotate(admin, { id: rotated.id }, 10)
    const states = async () => {
      const keys = await Promise.all(ids.map((id) => oauth.keys.retrieve({ id })))
      return keys.map(({ state }) => state)
    }
    expect(await states()).to.deep.equal(['revoked', 'active'])
    oauth.time.now += 600_000
    expect(await states()).to.deep.equal(['revoked', 'expired'])
  })

  it('lose all tokens when they end', async () => {
    const id = await connect()
    await oauth.artifacts.upsert('AccessToken', 'a', { grantId: id }, 60)
    await oauth.artifacts.upsert('RefreshToken', 'r', { grantId: id }, 60)
    await oauth.keys.revoke(admin, { id })
    expect(await store.db.selectFrom('oauth_artifacts').selectAll().execute()).to.deep.equal([])
  })

  it('only call models, for any requested scope', async () => {
    const id = await connect()
    const update = (change: object) => codeOf(oauth.keys.update(admin, { id }, change))
    expect(await update({ scopes: ['inference', 'admin'] })).to.equal('invalid_value')
    expect(await update({ scopes: ['inference'], limits: { requests_per_minute: 1 } })).to.equal(
      'done',
    )
    expect(await codeOf(oauth.keys.rotate(admin, { id }, 0))).to.equal('key_not_active')
  })

  it('take all settings except the name from their key', async () => {
    const { id: keyId } = await newKey()
    const id = await connect({ by: { keyId } })
    expect(await codeOf(oauth.keys.update(admin, { id }, { models: ['a'] }))).to.equal(
      'invalid_value',
    )
    expect(await oauth.keys.update(admin, { id }, { name: 'mine' })).to.include({ name: 'mine' })
  })

  it('of a removed member end, and those of others stay', async () => {
    const person = { id: 'usr_2', email: 'b@b.c', name: 'B', password_hash: '', created_at: 0 }
    await store.db.insertInto('people').values(person).execute()
    const member = {
      account_id: accountId,
      person_id: 'usr_2',
      role: 'member',
      joined_at: 1,
    } as const
    await store.db.insertInto('members').values(member).execute()
    const { id: keyId } = await newKey()
    await store.db.updateTable('api_keys').set({ created_by: 'usr_2' }).execute()
    const gone = await connect({ by: { personId: 'usr_2' } })
    const [withKey, other] = [await connect({ by: { keyId } }), await connect()]
    const caller = oauth.callerOfAdmin(accountId)
    await oauth.members.remove(caller, 'usr_2', admin)
    const states = await Promise.all(
      [gone, withKey, other].map(async (id) => (await oauth.keys.retrieve({ id })).state),
    )
    expect(states).to.deep.equal(['revoked', 'active', 'active'])
  })
})
