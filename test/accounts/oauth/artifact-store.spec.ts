import { expect } from 'chai'
import type { ArtifactKind } from '../../../src/accounts/oauth/artifact-row.ts'
import type { StoreRefusal } from '../../../src/core/error.ts'
import type { Store } from '../../../src/storage/store.ts'
import { digestOf } from '../../../src/accounts/api-key.ts'
import { forEachStore } from '../../support/each-store.ts'
import {
  consent,
  oauthOf,
  personId,
  openOAuthStores,
  type OAuthStores,
} from '../../support/oauth-store.ts'

const codeOf = async (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: StoreRefusal) => error.code,
  )

forEachStore('the OAuth artifact store', () => {
  let opened: OAuthStores
  let store: Store
  let other: Store
  let oauth: ReturnType<typeof oauthOf>
  let grantId: string
  before(async () => {
    opened = await openOAuthStores()
    ;({ store, other } = opened)
  })
  after(() => opened.close())
  beforeEach(async () => {
    await opened.empty()
    oauth = oauthOf(store)
    grantId = await oauth.connections.connect(consent)
    // Clears the announcement of the connection itself.
    oauth.announced.length = 0
  })

  const token = (more = {}) => ({
    accountId: personId,
    clientId: 'client_1',
    grantId,
    scope: 'inference',
    ...more,
  })
  const keep = (kind: ArtifactKind, id: string, more = {}, seconds = 3600) =>
    oauth.artifacts.upsert(kind, id, token({ jti: id, kind, ...more }), seconds)

  it('returns a stored artifact until it expires', async () => {
    const kinds = [
      'AccessToken',
      'AuthorizationCode',
      'Grant',
      'RefreshToken',
      'Session',
      'Interaction',
      'ReplayDetection',
    ] as const
    for (const kind of kinds) {
      const id = kind === 'Grant' ? grantId : `id of ${kind}`
      await keep(kind, id, { iat: 1 }, 60)
      expect(await oauth.artifacts.find(kind, id)).to.deep.equal(
        token({ jti: id, kind, iat: 1 }),
        kind,
      )
    }
    oauth.time.now += 60_000
    for (const kind of kinds) {
      const id = kind === 'Grant' ? grantId : `id of ${kind}`
      expect(await oauth.artifacts.find(kind, id), kind).to.equal(undefined)
    }
  })

  it('stores neither the id of an artifact nor the id of its session', async () => {
    const ids = ['mag_oauth_secret', 'mag_refresh_secret', 'mag_code_secret', 'session-secret']
    await keep('AccessToken', ids[0]!)
    await keep('RefreshToken', ids[1]!)
    await keep('AuthorizationCode', ids[2]!)
    await keep('Session', ids[3]!, { uid: 'uid of it' })
    await keep('Interaction', 'interaction-secret', {
      session: { accountId: personId, uid: 'uid of it', cookie: ids[3] },
    })
    const rows = JSON.stringify(await store.db.selectFrom('oauth_artifacts').selectAll().execute())
    for (const id of [...ids, 'interaction-secret']) expect(rows).not.to.include(id)
    expect(await oauth.artifacts.find('Interaction', 'interaction-secret')).to.deep.include({
      session: { accountId: personId, uid: 'uid of it' },
    })
  })

  it('finds a session by its uid, without its id', async () => {
    await keep('Session', 'secret', { uid: 'other name' })
    const found = await oauth.artifacts.findByUid('Session', 'other name')
    expect(found).to.include({ uid: 'other name' }).and.not.to.have.property('jti')
    expect(await oauth.artifacts.findByUid('Session', 'secret')).to.equal(undefined)
  })

  it('distinguishes kinds with the same id', async () => {
    await keep('AccessToken', 'same')
    expect(await oauth.artifacts.find('RefreshToken', 'same')).to.equal(undefined)
  })

  it('accepts a code once, with four concurrent requests in two processes', async () => {
    const elsewhere = oauthOf(other)
    for (let round = 0; round < 100; round++) {
      const code = `mag_code_${round}`
      await keep('AuthorizationCode', code)
      const outcomes = await Promise.all(
        [oauth, elsewhere, oauth, elsewhere].map(({ artifacts }) =>
          codeOf(artifacts.consume('AuthorizationCode', code)),
        ),
      )
      expect(outcomes.toSorted()).to.deep.equal([
        'already_used',
        'already_used',
        'already_used',
        'done',
      ])
    }
  })

  it('accepts a code once when the clock of another process is slow', async () => {
    const elsewhere = oauthOf(other)
    elsewhere.time.now -= 30_000
    await keep('AuthorizationCode', 'code')
    await oauth.artifacts.consume('AuthorizationCode', 'code')
    expect(await codeOf(elsewhere.artifacts.consume('AuthorizationCode', 'code'))).to.equal(
      'already_used',
    )
  })

  it('accepts a refresh token again within its grace period, and reports it as used after that', async () => {
    await keep('RefreshToken', 'refresh', {}, 86_400)
    const uses = ['one', 'two', 'three'].map(() =>
      oauth.artifacts.consume('RefreshToken', 'refresh'),
    )
    await Promise.all(uses)
    oauth.time.now += 119_000
    expect(await oauth.artifacts.find('RefreshToken', 'refresh')).not.to.have.property('consumed')
    await oauth.artifacts.consume('RefreshToken', 'refresh')
    oauth.time.now += 1000
    expect(await oauth.artifacts.find('RefreshToken', 'refresh')).to.have.property('consumed', true)
    expect(await codeOf(oauth.artifacts.consume('RefreshToken', 'refresh'))).to.equal(
      'already_used',
    )
  })

  it('keeps an artifact used when it is stored again', async () => {
    await keep('AuthorizationCode', 'code')
    await oauth.artifacts.consume('AuthorizationCode', 'code')
    await keep('AuthorizationCode', 'code', { scope: 'other' })
    expect(await oauth.artifacts.find('AuthorizationCode', 'code')).not.to.have.property('consumed')
    oauth.time.now += 10_000
    expect(await oauth.artifacts.find('AuthorizationCode', 'code')).to.include({
      scope: 'other',
      consumed: true,
    })
  })

  it('reports a code as used once its tokens were issued, with any clock', async () => {
    const elsewhere = oauthOf(other)
    elsewhere.time.now -= 30_000
    await keep('AuthorizationCode', 'code')
    await oauth.artifacts.consume('AuthorizationCode', 'code')
    const find = () => elsewhere.artifacts.find('AuthorizationCode', 'code')
    expect(await find()).not.to.have.property('consumed')
    await oauth.artifacts.finishExchange('code')
    expect(await find()).to.have.property('consumed', true)
  })

  it('never overwrites a refresh token', async () => {
    await keep('RefreshToken', 'refresh', { seed: 'first' })
    await keep('RefreshToken', 'refresh', { seed: 'second' })
    expect(await oauth.artifacts.find('RefreshToken', 'refresh')).to.include({ seed: 'first' })
  })

  it('accepts a client assertion once', async () => {
    await keep('ReplayDetection', 'assertion')
    expect(await codeOf(keep('ReplayDetection', 'assertion'))).to.equal('already_used')
  })

  it('ends a connection with all of its artifacts, once, and announces it', async () => {
    for (const kind of ['AccessToken', 'RefreshToken', 'AuthorizationCode'] as const)
      await keep(kind, `id of ${kind}`)
    await keep('Grant', grantId)
    // Revokes concurrently, once for each kind of artifact.
    await Promise.all([1, 2, 3].map(() => oauth.artifacts.revokeByGrantId(grantId)))
    expect(await store.db.selectFrom('oauth_artifacts').selectAll().execute()).to.deep.equal([])
    expect(oauth.announced).to.deep.include({ kind: 'keys_changed', keyIds: [grantId] })
    const { data } = await oauth.audit.list(
      { accountId: consent.accountId, action: 'key.revoke' },
      { limit: 10, order: 'asc', cursor: undefined },
    )
    expect(data.map(({ target, by }) => [target, by])).to.deep.equal([[grantId, grantId]])
    expect(await codeOf(keep('AccessToken', 'another'))).to.equal('connection_ended')
    expect(await oauth.artifacts.find('Grant', grantId)).to.equal(undefined)
  })

  it('ends no API key by its id', async () => {
    const issuer = { id: 'command_line', address: null, scopes: ['admin'] as const }
    const key = await oauth.keys.create(issuer, consent.accountId, { name: 'k', mode: 'live' })
    await oauth.artifacts.revokeByGrantId(key.id)
    expect(await oauth.keys.retrieve({ id: key.id })).to.include({ state: 'active' })
  })

  it('announces the removal of a single access token', async () => {
    await keep('AccessToken', 'access')
    await oauth.artifacts.destroy('AccessToken', 'access')
    expect(await oauth.artifacts.find('AccessToken', 'access')).to.equal(undefined)
    expect(oauth.announced).to.deep.equal([{ kind: 'keys_changed', keyIds: [grantId] }])
  })

  it('stores a client with the digest of its secret', async () => {
    const client = {
      client_id: 'c1',
      client_name: ' <b>A\u202e\nname ',
      redirect_uris: ['https://a.b/c'],
    }
    await oauth.artifacts.upsert('Client', 'c1', { ...client, client_secret: 'its secret' })
    expect(await oauth.artifacts.find('Client', 'c1')).to.deep.equal({
      ...client,
      client_secret: digestOf('its secret'),
    })
    const rows = await store.db.selectFrom('oauth_clients').selectAll().execute()
    expect(JSON.stringify(rows)).not.to.include('its secret')
    expect(rows[0]).to.include({ name: '<b>A name' })
    await oauth.artifacts.destroy('Client', 'c1')
    expect(await oauth.artifacts.find('Client', 'c1')).to.equal(undefined)
  })

  it('stores no client credentials for a client that registered itself', async () => {
    await oauth.artifacts.upsert('Client', 'c1', { client_id: 'c1' })
    const own = { clientId: 'c1', scope: 'inference' }
    expect(await codeOf(oauth.artifacts.upsert('ClientCredentials', 't', own, 60))).to.equal(
      'connection_ended',
    )
  })

  it('refuses artifacts above each maximum', async () => {
    const few = oauthOf(store, {
      oauthClientsMax: 2,
      oauthSignInsMax: 2,
      oauthTokensPerConnectionMax: 2,
      oauthConnectionsPerAccountMax: 2,
    })
    const three = async (work: (id: string) => Promise<unknown>) => {
      const outcomes: string[] = []
      for (const id of ['1', '2', '3']) outcomes.push(await codeOf(work(id)))
      return outcomes
    }
    const { artifacts, connections } = few
    expect(await three((id) => artifacts.upsert('Client', id, { client_id: id }))).to.deep.equal([
      'done',
      'done',
      'too_many_clients',
    ])
    expect(await three((id) => artifacts.upsert('Session', id, {}, 60))).to.deep.equal([
      'done',
      'done',
      'too_many_artifacts',
    ])
    expect(await three((id) => artifacts.upsert('AccessToken', id, token(), 60))).to.deep.equal([
      'done',
      'done',
      'too_many_artifacts',
    ])
    expect(
      await three((id) => connections.connect({ ...consent, client: { id, name: id } })),
    ).to.deep.equal(['done', 'too_many_connections', 'too_many_connections'])
  })
})
