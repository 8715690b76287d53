import { expect } from 'chai'
import { sweepOAuth } from '../../../src/accounts/oauth/oauth-sweep.ts'
import type { Sweep } from '../../../src/accounts/sweep.ts'
import { clocksDifferMaxMs } from '../../../src/core/time.ts'
import { bounds } from '../../../src/settings/bounds.ts'
import type { Store } from '../../../src/storage/store.ts'
import { forEachStore } from '../../support/each-store.ts'
import { consent, oauthOf, openOAuthStores, type OAuthStores } from '../../support/oauth-store.ts'

const limits = {
  ...bounds,
  oauthSweepRowsMax: 3,
  oauthUnusedClientTtlSeconds: 86_400,
  oauthIdleClientTtlSeconds: 864_000,
}
const dayMs = 86_400_000

forEachStore('the sweep of OAuth artifacts', () => {
  let opened: OAuthStores
  let store: Store
  let other: Store
  let oauth: ReturnType<typeof oauthOf>
  let sweeps: Sweep[]
  let failures: unknown[]
  before(async () => {
    opened = await openOAuthStores()
    ;({ store, other } = opened)
  })
  after(() => opened.close())
  beforeEach(async () => {
    await opened.empty()
    oauth = oauthOf(store, { oauthSignInsMax: 1000 })
    oauth.time.now = 1_800_000_000_000
    const { announce } = oauth
    const clock = () => oauth.time.now
    failures = []
    const onSwept = (error?: unknown) => void (error === undefined || failures.push(error))
    const rest = { announce, clock, limits, onSwept }
    sweeps = [store, other].map((one) => sweepOAuth({ store: one, ...rest }))
  })
  afterEach(() => {
    sweeps.forEach((sweep) => sweep.close())
    expect(failures).to.deep.equal([])
  })

  const look = () => Promise.all(sweeps.map((sweep) => sweep.look()))
  const later = async (ms: number) => {
    oauth.time.now += ms
    await look()
  }
  const digests = async () =>
    (await store.db.selectFrom('oauth_artifacts').select('kind').execute()).map(({ kind }) => kind)
  const clients = async () =>
    (await store.db.selectFrom('oauth_clients').select('id').orderBy('id').execute()).map(
      ({ id }) => id,
    )

  it('removes rows that have expired by every clock, in batches, and keeps others', async () => {
    for (let index = 0; index < 50; index++)
      await oauth.artifacts.upsert('Interaction', `i${index}`, {}, 60)
    await oauth.artifacts.upsert('Session', 's', {}, 3600)
    await later(60_000)
    expect(await digests()).to.have.length(51)
    await later(clocksDifferMaxMs)
    // The rest remains: only one process sweeps, with at most ten batches per sweep.
    expect(await digests()).to.have.length(21)
    await look()
    expect(await digests()).to.have.length(21)
    await later(60_000)
    expect(await digests()).to.deep.equal(['Session'])
  })

  it('continues after a clock was far ahead', async () => {
    await oauth.artifacts.upsert('Interaction', 'i', {}, 60)
    await store.db
      .insertInto('write_checks')
      .values({ id: 'oauth_sweep', at: oauth.time.now + dayMs })
      .execute()
    await later(60_000 + clocksDifferMaxMs)
    expect(await digests()).to.deep.equal([])
  })

  it('ends a connection when its last token has expired, and announces it', async () => {
    const id = await oauth.connections.connect(consent)
    oauth.announced.length = 0
    const state = async () => (await oauth.keys.retrieve({ id })).state
    await oauth.artifacts.upsert('Grant', id, {}, 10 * 86_400)
    await look()
    expect(await state()).to.equal('active')
    await oauth.artifacts.upsert('AccessToken', 'a', { grantId: id }, 3600)
    await oauth.artifacts.upsert('RefreshToken', 'r', { grantId: id }, 86_400)
    await later(2 * 3_600_000)
    expect(await state()).to.equal('active')
    await later(dayMs)
    expect(await state()).to.equal('expired')
    expect(await digests()).to.deep.equal([])
    expect(oauth.announced).to.deep.include({ kind: 'keys_changed', keyIds: [id] })
  })

  it('ends a connection without any token', async () => {
    const id = await oauth.connections.connect(consent)
    await later(599_000)
    expect(await oauth.keys.retrieve({ id })).to.include({ state: 'active' })
    await later(60_000)
    expect(await oauth.keys.retrieve({ id })).to.include({ state: 'expired' })
  })

  it('ends no connection with a valid token, and no key', async () => {
    const id = await oauth.connections.connect(consent)
    const issuer = { id: 'command_line', address: null, scopes: ['admin'] as const }
    const key = await oauth.keys.create(issuer, consent.accountId, { name: 'k', mode: 'live' })
    await oauth.artifacts.upsert('RefreshToken', 'r', { grantId: id }, 30 * 86_400)
    await later(29 * dayMs)
    for (const one of [id, key.id])
      expect(await oauth.keys.retrieve({ id: one })).to.include({ state: 'active' })
  })

  it('removes clients that were never connected, and later those that are no longer used', async () => {
    const names = ['1 unused', '2 connected', '3 ended', '4 of an account']
    for (const id of names) await oauth.artifacts.upsert('Client', id, { client_id: id })
    await store.db
      .updateTable('oauth_clients')
      .set({ account_id: consent.accountId })
      .where('id', '=', names[3]!)
      .execute()
    oauth.time.now += 1000
    const connect = (id: string) =>
      oauth.connections.connect({ ...consent, client: { id, name: id } })
    const kept = await connect(names[1]!)
    await oauth.artifacts.upsert('RefreshToken', 'r', { grantId: kept }, 30 * 86_400)
    await oauth.artifacts.revokeByGrantId(await connect(names[2]!))
    await later(dayMs)
    expect(await clients()).to.deep.equal(names.slice(1))
    await later(10 * dayMs)
    expect(await clients()).to.deep.equal([names[1], names[3]])
  })

  it('keeps a client that was never connected for four weeks, and for a day when half of the places are taken', async () => {
    const { oauthUnusedClientTtlSeconds } = bounds
    const options = {
      store,
      announce: oauth.announce,
      clock: () => oauth.time.now,
      onSwept: () => {},
    }
    const sweepWith = (more: object) => {
      const sweep = sweepOAuth({
        ...options,
        limits: { ...limits, oauthUnusedClientTtlSeconds, oauthIdleClientTtlSeconds: 1e9, ...more },
      })
      sweeps.push(sweep)
      return sweep
    }
    const [roomy, crowded] = [sweepWith({}), sweepWith({ oauthClientsMax: 3 })]
    for (const id of ['a', 'b']) await oauth.artifacts.upsert('Client', id, { client_id: id })
    oauth.time.now += 27 * dayMs
    await roomy.look()
    expect(await clients()).to.deep.equal(['a', 'b'])
    oauth.time.now += dayMs
    await oauth.artifacts.upsert('Client', 'c', { client_id: 'c' })
    await roomy.look()
    expect(await clients()).to.deep.equal(['c'])
    await oauth.artifacts.upsert('Client', 'd', { client_id: 'd' })
    oauth.time.now += dayMs
    await crowded.look()
    expect(await clients()).to.deep.equal([])
  })
})
