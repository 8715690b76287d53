import { expect } from 'chai'
import { createOAuthKeys, rotateOAuthKeys } from '../../../src/accounts/oauth/oauth-keys.ts'
import type { Store } from '../../../src/storage/store.ts'
import { forEachStore } from '../../support/each-store.ts'
import { accountId, oauthOf, openOAuthStores, type OAuthStores } from '../../support/oauth-store.ts'

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

forEachStore('the signing keys of OAuth', () => {
  let opened: OAuthStores
  let store: Store
  let other: Store
  let now: number
  const clock = () => now
  const from = (one: Store) => createOAuthKeys({ store: one, clock })
  const rotate = () => {
    const by = { id: 'command_line', address: null }
    const { audit } = oauthOf(store)
    return rotateOAuthKeys({ store, audit, clock, by, accountId })
  }
  before(async () => {
    opened = await openOAuthStores()
    ;({ store, other } = opened)
  })
  beforeEach(async () => {
    now = 1_800_000_000_000
    await store.db.deleteFrom('gateway_secrets').execute()
  })
  after(() => opened.close())

  it('are the same in all processes, even when the first calls are concurrent', async () => {
    const read = await Promise.all([store, other, store, other].map((one) => from(one)()))
    const texts = read.map((keys) => JSON.stringify(keys))
    expect(new Set(texts).size).to.equal(1)
    expect(read[0]!.signing[0]).to.include({ kty: 'RSA', use: 'sig' })
    expect(read[0]!.cookies).to.have.length(1)
  })

  it('sign after all processes have read them, and stay valid for a day after a rotation', async () => {
    const [here, there] = [from(store), from(other)]
    const [first] = (await here()).cookies
    expect(await there()).to.deep.equal(await here())
    await rotate()
    now += minuteMs
    const keys = await there()
    expect(keys.cookies).to.have.length(2)
    expect(keys.cookies[0]).to.equal(first)
    now += 4 * minuteMs
    const [signing, ...others] = (await there()).cookies
    expect([signing, others]).to.deep.equal([keys.cookies[1], [first]])
    expect(await here()).to.deep.equal(await there())
    now += dayMs
    await rotate()
    const left = await from(store)()
    expect(left.cookies).to.have.length(2).and.not.to.include(first)
  })

  it('are the same object until they change', async () => {
    const read = from(store)
    const first = await read()
    now += 2 * minuteMs
    expect(await read()).to.equal(first)
  })
})
