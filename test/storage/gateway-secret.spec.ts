import { join } from 'node:path'
import { expect } from 'chai'
import { readGatewaySecret } from '../../src/storage/gateway-secret.ts'
import type { Store } from '../../src/storage/store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openTestStore } from '../support/store.ts'

describe('the secret of a store', () => {
  let folder: TemporaryFolder
  beforeEach(() => (folder = makeFolder()))
  afterEach(() => folder.remove())

  const inStore = async <T>(name: string, run: (store: Store) => Promise<T>): Promise<T> => {
    const store = await openTestStore(join(folder.path, name))
    try {
      return await run(store)
    } finally {
      await store.close()
    }
  }
  const keyOf = async ({ db }: Store, purpose = 'a purpose') =>
    (await readGatewaySecret(db)).keyFor(purpose, 32).toString('hex')

  it('stays the same after the first start, and differs between stores', async () => {
    const first = await inStore('one', keyOf)
    expect(await inStore('one', keyOf)).to.equal(first)
    expect(await inStore('other', keyOf)).to.not.equal(first)
  })

  it('is the same for processes that start at once', async () => {
    const keys = await inStore('one', (store) =>
      Promise.all(Array.from({ length: 8 }, () => keyOf(store))),
    )
    expect(new Set(keys).size).to.equal(1)
  })

  it('derives a different key for each purpose', async () => {
    const keys = await inStore('one', async (store) => [
      await keyOf(store, 'one'),
      await keyOf(store, 'other'),
    ])
    expect(keys[0]).to.not.equal(keys[1])
  })
})
