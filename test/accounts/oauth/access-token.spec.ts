import { expect } from 'chai'
import { createIdentify, type KeyCache } from '../../../src/accounts/identify.ts'
import type { Caller } from '../../../src/core/caller.ts'
import { GatewayError } from '../../../src/core/error.ts'
import type { Store } from '../../../src/storage/store.ts'
import { callerOf } from '../../support/callers.ts'
import { forEachStore } from '../../support/each-store.ts'
import {
  consent,
  oauthOf,
  personId,
  openOAuthStores,
  type OAuthStores,
} from '../../support/oauth-store.ts'

const audience = 'https://gateway.test/mcp'
const token = `mag_oauth_${'a'.repeat(43)}`

forEachStore('identifying a caller by an access token', () => {
  let opened: OAuthStores
  let store: Store
  let oauth: ReturnType<typeof oauthOf>
  let known: KeyCache
  let keyId: string
  const used: string[] = []
  before(async () => {
    opened = await openOAuthStores()
    ;({ store } = opened)
    await store.db.updateTable('accounts').set({ is_operator: 1 }).execute()
  })
  after(() => opened.close())
  beforeEach(async () => {
    await opened.empty()
    oauth = oauthOf(store)
    const clock = () => oauth.time.now
    used.length = 0
    known = createIdentify({
      store,
      clock,
      monotonic: clock,
      keyCacheMs: 1000,
      keyCacheEntriesMax: 10,
      tokensFor: { audience, scope: 'mcp' },
      onUse: (id) => void used.push(id),
    })
    keyId = await oauth.connections.connect(consent)
  })

  const keep = (more: object = {}, seconds = 3600) =>
    oauth.artifacts.upsert(
      'AccessToken',
      token,
      { grantId: keyId, clientId: 'client_1', aud: audience, scope: 'mcp', ...more },
      seconds,
    )
  const identify = async (key = token) =>
    known.identify({ authorization: `Bearer ${key}`, apiKey: undefined })
  const refusal = async (key = token): Promise<string> => {
    try {
      await identify(key)
      return 'none'
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      return `${error.code}: ${error.message}`
    }
  }

  it('finds the connection in either header, without administrative scopes', async () => {
    await keep()
    const ofKey: Caller = callerOf({ accountId: consent.accountId, keyId })
    const caller: Caller = { ...ofKey, hasToken: true }
    expect(await identify()).to.deep.equal(caller)
    expect(await known.identify({ authorization: undefined, apiKey: token })).to.deep.equal(caller)
    expect(used).to.deep.equal([keyId])
  })

  it('reads the store once while the token is cached', async () => {
    await keep()
    await identify()
    await store.db.deleteFrom('oauth_artifacts').execute()
    expect(known.identify({ authorization: `Bearer ${token}`, apiKey: undefined })).to.include({
      keyId,
    })
    oauth.time.now += 1001
    expect(await refusal()).to.match(/^invalid_token: There is no such access token/)
  })

  it('refuses an unknown, incomplete or expired token, or one of another server, with the reason', async () => {
    expect(await refusal()).to.match(/^invalid_token: There is no such access token/)
    expect(await refusal('mag_oauth_short')).to.match(
      /^invalid_token: The access token is mistyped or incomplete/,
    )
    await keep({ aud: 'https://other.test/mcp' })
    expect(await refusal()).to.match(/^invalid_token: .* was not issued for https:\/\/gateway/)
    await keep({}, 60)
    expect(await identify()).to.include({ keyId })
    oauth.time.now += 60_000
    expect(await refusal()).to.match(/^invalid_token: The access token has expired/)
    await keep({ aud: undefined })
    expect(await refusal()).to.match(/^invalid_token: .* was not issued for https:\/\/gateway/)
  })

  it('accepts a token whose audiences include this server', async () => {
    await keep({ aud: ['https://other.test', audience] })
    expect(await identify()).to.include({ keyId })
  })

  it('allows nothing to a token without the scope to call models', async () => {
    await keep({ scope: 'offline_access' })
    expect(await identify()).to.deep.include({ scopes: [] })
  })

  it('accepts no other OAuth artifact as an access token', async () => {
    for (const kind of ['RefreshToken', 'AuthorizationCode', 'Session'] as const) {
      await oauth.artifacts.upsert(kind, token, { grantId: keyId, aud: audience }, 60)
    }
    expect(await refusal()).to.match(/^invalid_token: There is no such access token/)
  })

  it('refuses the tokens of an ended connection, at once after an announcement', async () => {
    await keep()
    await identify()
    await oauth.keys.revoke({ id: personId, address: null, scopes: ['admin'] }, { id: keyId })
    known.forget((caller) => caller.keyId === keyId)
    expect(await refusal()).to.match(/^invalid_token: /)
  })

  it('expires with its connection', async () => {
    await keep()
    await store.db
      .updateTable('api_keys')
      .set({ expires_at: oauth.time.now + 500 })
      .execute()
    expect(await identify()).to.include({ keyId })
    oauth.time.now += 500
    expect(await refusal()).to.match(/^invalid_token: The connection .* has ended/)
  })

  it('finds the key of a client that an account created', async () => {
    const row = await store.db.selectFrom('api_keys').selectAll().executeTakeFirstOrThrow()
    const own = { ...row, id: 'key_own', digest: 'own', kind: 'client', client_id: 'c2' } as const
    await store.db.insertInto('api_keys').values(own).execute()
    await oauth.artifacts.upsert('Client', 'c2', { client_id: 'c2' })
    await store.db.updateTable('oauth_clients').set({ key_id: 'key_own' }).execute()
    const asked = { clientId: 'c2', aud: audience, scope: 'mcp' }
    await oauth.artifacts.upsert('ClientCredentials', token, asked, 60)
    expect(await identify()).to.include({ keyId: 'key_own' })
  })
})
