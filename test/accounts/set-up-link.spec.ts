import { expect } from 'chai'
import { assertSetUpLink, createSetUpLinks } from '../../src/accounts/set-up-link.ts'
import type { Store } from '../../src/storage/store.ts'
import { forEachStore } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { accountsOf } from '../support/keys.ts'
import { openTestStore } from '../support/store.ts'

forEachStore('the set-up link', () => {
  let folder: TemporaryFolder
  let store: Store
  beforeEach(async () => {
    folder = makeFolder()
    store = await openTestStore(folder.path)
  })
  afterEach(async () => {
    await store.close()
    folder.remove()
  })
  const begin = Date.UTC(2030, 0, 1)
  const at = async (now: number) => {
    const clock = () => now
    const { accounts, audit } = accountsOf(store, clock)
    await accounts.first()
    return createSetUpLinks({ store, audit, clock })
  }
  const start = async (now: number) => (await at(now)).createIfNeeded()

  it('is created by one of several replicas that start together, and works', async () => {
    const links = await Promise.all([0, 30_000, 0].map((late) => start(begin + late)))
    const [made, ...others] = links.toSorted((a) => (a === 'made_elsewhere' ? 1 : -1))
    expect(others).to.deep.equal(['made_elsewhere', 'made_elsewhere'])
    const { token } = made as { token: string }
    await assertSetUpLink(store.db, token, begin + 30_000)
  })

  it('is replaced by a start a minute later, which ends the old link', async () => {
    const first = (await start(begin)) as { token: string }
    const second = (await start(begin + 60_000)) as { token: string }
    await assertSetUpLink(store.db, second.token, begin + 60_000)
    const ended = await assertSetUpLink(store.db, first.token, begin + 60_000).catch(String)
    expect(ended).to.contain('was replaced by a newer one')
  })

  it('is replaced by the command at once', async () => {
    await start(begin)
    const token = await (await at(begin)).create()
    await assertSetUpLink(store.db, token, begin)
  })
})
