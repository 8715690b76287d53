import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { createAccounts, type Accounts } from '../../src/accounts/accounts.ts'
import type { Store } from '../../src/storage/store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openTestStore } from '../support/store.ts'

describe('accounts', () => {
  let folder: TemporaryFolder
  let store: Store
  let accounts: Accounts
  let now: number
  beforeEach(async () => {
    folder = makeFolder()
    now = 1_800_000_000_000
    store = await openTestStore(folder.path)
    accounts = createAccounts(store, () => now)
  })
  afterEach(async () => {
    await store.close()
    folder.remove()
  })

  const newKey = async (name = 'mine') => {
    const { id: accountId } = await accounts.first()
    return accounts.createKey({ accountId, mode: 'test', name })
  }

  it('begin with one, which is made once', async () => {
    const first = await accounts.first()
    const again = await accounts.first()
    expect(first.created).to.equal(true)
    expect(again).to.deep.equal({ id: first.id, created: false })
  })

  it('begin with one even when two processes start at the same moment', async () => {
    const other = await openTestStore(folder.path)
    const found = await Promise.all([accounts.first(), createAccounts(other, () => now).first()])
    await other.close()
    expect(new Set(found.map(({ id }) => id)).size).to.equal(1)
    expect(found.filter(({ created }) => created)).to.have.length(1)
  })

  it('write no key into any file, only its digest', async () => {
    const key = await newKey()
    const secret = key.slice(9, 52)
    const pieces = Array.from({ length: secret.length - 11 }, (_, at) => secret.slice(at, at + 12))
    const needles = [...pieces.map(Buffer.from), Buffer.from(secret, 'base64url').subarray(0, 12)]
    const files = readdirSync(folder.path)
    expect(files).to.include.members(['gateway.db', 'gateway.db-wal'])
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

  it('list keys in the order of their making, without digests', async () => {
    await newKey('first')
    now += 1
    await newKey('second')
    const rows = await accounts.listKeys()
    expect(rows.map(({ name }) => name)).to.deep.equal(['first', 'second'])
    expect(rows[0]).to.not.have.property('digest')
  })

  it('end a key once, and say so', async () => {
    await newKey()
    const [{ id } = { id: '' }] = await accounts.listKeys()
    now += 5
    expect(await accounts.revokeKey(id)).to.equal(true)
    expect(await accounts.revokeKey(id)).to.equal(false)
    expect(await accounts.revokeKey('key_nosuch')).to.equal(false)
    const [row] = await accounts.listKeys()
    expect(row?.revoked_at).to.equal(now)
  })
})
