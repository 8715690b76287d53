import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Accounts } from '../../src/accounts/accounts.ts'
import type { Store } from '../../src/storage/store.ts'
import { commandLine } from '../../src/accounts/audit.ts'
import { accountsOf } from '../support/keys.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openTestStore } from '../support/store.ts'
import { forEachStore } from '../support/each-store.ts'

forEachStore('accounts', (kind) => {
  let folder: TemporaryFolder
  let store: Store
  let accounts: Accounts
  let now: number
  beforeEach(async () => {
    folder = makeFolder()
    now = 1_800_000_000_000
    store = await openTestStore(folder.path)
    accounts = accountsOf(store, () => now).accounts
  })
  afterEach(async () => {
    await store.close()
    folder.remove()
  })

  const newKey = async () => {
    const { id: accountId } = await accounts.first()
    const asked = { mode: 'test', name: 'mine' } as const
    return (await accountsOf(store, () => now).keys.create(commandLine, accountId, asked)).key
  }

  it('start with one, which is created once', async () => {
    const first = await accounts.first()
    const again = await accounts.first()
    expect(first.created).to.equal(true)
    expect(again).to.deep.equal({ id: first.id, created: false })
  })

  it('start with one, which stays the first when the clock is set back', async () => {
    const { id } = await accounts.first()
    now -= 3_600_000
    await accounts.create(commandLine, { name: 'other' })
    expect(await accounts.first()).to.deep.equal({ id, created: false })
  })

  it('start with one when two processes start at the same moment', async () => {
    const other = await openTestStore(folder.path)
    const found = await Promise.all([
      accounts.first(),
      accountsOf(other, () => now).accounts.first(),
    ])
    await other.close()
    expect(new Set(found.map(({ id }) => id)).size).to.equal(1)
    expect(found.filter(({ created }) => created)).to.have.length(1)
  })

  it('store the digest of a key, and never the key', async () => {
    const key = await newKey()
    const secret = key.slice(9, 52)
    const pieces = Array.from({ length: secret.length - 11 }, (_, at) => secret.slice(at, at + 12))
    const needles = [...pieces.map(Buffer.from), Buffer.from(secret, 'base64url').subarray(0, 12)]
    const files = readdirSync(folder.path)
    if (kind === 'sqlite') expect(files).to.include.members(['gateway.db', 'gateway.db-wal'])
    const found = () =>
      readdirSync(folder.path).filter((name) => {
        const bytes = readFileSync(join(folder.path, name))
        return needles.some((needle) => bytes.includes(needle))
      })
    expect(found()).to.deep.equal([])
    await store.close()
    expect(found()).to.deep.equal([])
    store = await openTestStore(folder.path)
    const [row] = await store.db.selectFrom('api_keys').select('digest').execute()
    expect(row?.digest).to.have.length(43)
  })
})
