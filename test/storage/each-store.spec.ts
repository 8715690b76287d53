import { expect } from 'chai'
import { sql } from 'kysely'
import { noAllowance } from '../../src/accounts/allowance.ts'
import { StoreError } from '../../src/storage/store-error.ts'
import type { Store } from '../../src/storage/store.ts'
import type { UsageTable } from '../../src/storage/tables.ts'
import { accountRow } from '../support/callers.ts'
import { forEachStore } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openTestStore } from '../support/store.ts'
import { usageRow } from '../support/usage-row.ts'

const rowsFrom = (start: number, count: number): UsageTable[] =>
  Array.from({ length: count }, (_, index) => usageRow(`row_${start + index}`))

const insert = (store: Store, rows: readonly UsageTable[]) =>
  store.commit(store.insertions('usage', rows))

/** A row that every store refuses. */
const wrong = { ...usageRow('wrong'), mode: null as unknown as string }

forEachStore('a store', () => {
  let folder: TemporaryFolder
  let store: Store
  /** A second connection, as another process would open. */
  let outside: Store
  beforeEach(async () => {
    folder = makeFolder()
    store = await openTestStore(folder.path)
    outside = await openTestStore(folder.path)
  })
  afterEach(async () => {
    await outside.close()
    await store.close()
    folder.remove()
  })

  const countOutside = async (table: 'usage' | 'accounts' | 'api_keys') => {
    const { db } = outside
    const rows = await db.selectFrom(table).select('id').execute()
    return rows.length
  }

  it('has committed a group when the promise resolves', async () => {
    await insert(store, rowsFrom(0, 3))
    expect(await countOutside('usage')).to.equal(3)
  })

  it('skips existing rows with `unlessThere`', async () => {
    const rows = rowsFrom(0, 2)
    await insert(store, rows.slice(1))
    await store.commit(store.insertions('usage', rows, { unlessThere: true }))
    await store.commit(store.insertions('usage', rows, { unlessThere: true }))
    expect(await countOutside('usage')).to.equal(2)
  })

  it('commits statements of several tables in one transaction, or none of them', async () => {
    const change = (id: string, name: string) =>
      store.db.updateTable('accounts').set({ name }).where('id', '=', id).compile()
    await store.commit([
      ...store.insertions('accounts', [accountRow('acc_1')]),
      change('acc_1', 'renamed'),
    ])
    const [row] = rowsFrom(0, 1)
    await store.commit([...store.insertions('usage', [row!]), change('acc_1', 'settled')])
    const failed = store.commit([change('acc_1', 'lost'), ...store.insertions('usage', [wrong])])
    expect(await failed.catch((error: unknown) => error)).to.be.instanceOf(StoreError)
    const { name } = await store.db.selectFrom('accounts').selectAll().executeTakeFirstOrThrow()
    expect(name).to.equal('settled')
    expect(await countOutside('usage')).to.equal(1)
  })

  it('rolls back a group with an invalid row, and rejects only that group', async () => {
    const good = rowsFrom(0, 2)
    const bad = [...rowsFrom(10, 2), wrong]
    const outcomes = await Promise.allSettled([
      insert(store, good),
      insert(store, bad),
      insert(store, rowsFrom(20, 2)),
      store.db.selectFrom('usage').select('id').execute(),
    ])
    expect(outcomes.map(({ status }) => status)).to.deep.equal([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ])
    const rows = await store.db.selectFrom('usage').select('id').orderBy('id').execute()
    expect(rows.map(({ id }) => id)).to.deep.equal(['row_0', 'row_1', 'row_20', 'row_21'])
  })

  it('rejects an invalid query and continues', async () => {
    const refusal = await sql`SELECT nothing FROM nowhere`
      .execute(store.db)
      .catch((e: unknown) => e)
    expect(refusal).to.be.an('error').with.property('name', 'StoreError')
    expect(await store.db.selectFrom('usage').selectAll().execute()).to.deep.equal([])
  })

  it('hides uncommitted rows from other connections', async () => {
    const written = Promise.withResolvers<void>()
    const finish = Promise.withResolvers<void>()
    const transaction = store.db.transaction().execute(async (inside) => {
      await inside.insertInto('accounts').values(accountRow('acc_1')).execute()
      written.resolve()
      await finish.promise
    })
    await written.promise
    const during = await countOutside('accounts')
    const waiting = store.db.selectFrom('accounts').select('id').execute()
    finish.resolve()
    await transaction
    expect(during).to.equal(0)
    // SQLite runs the query after the transaction, PostgreSQL runs it at once.
    expect([[], [{ id: 'acc_1' }]]).to.deep.include(await waiting)
    expect(await countOutside('accounts')).to.equal(1)
  })

  it('rolls back a failed transaction', async () => {
    const failing = store.db.transaction().execute(async (inside) => {
      await inside.insertInto('accounts').values(accountRow('acc_1')).execute()
      throw new Error('changed my mind')
    })
    expect(await failing.catch((error: Error) => error.message)).to.equal('changed my mind')
    expect(await countOutside('accounts')).to.equal(0)
  })

  it('loses no change when two processes read and write the same row', async () => {
    const other = await openTestStore(folder.path)
    await store.db.insertInto('accounts').values(accountRow('acc_1')).execute()
    const add = ({ db }: Store) =>
      db.transaction().execute(async (inside) => {
        const row = await inside.selectFrom('accounts').selectAll().executeTakeFirstOrThrow()
        await inside
          .updateTable('accounts')
          .set({ created_at: row.created_at + 1 })
          .execute()
      })
    await Promise.all(Array.from({ length: 60 }, (_, turn) => add(turn % 2 === 0 ? store : other)))
    const row = await store.db.selectFrom('accounts').selectAll().executeTakeFirstOrThrow()
    await other.close()
    expect(row.created_at).to.equal(60)
  })

  it('refuses a key of an account that does not exist', async () => {
    const row = {
      id: 'key_1',
      account_id: 'acc_none',
      kind: 'key' as const,
      name: 'n',
      mode: 'test' as const,
      digest: 'd',
      hint: 'h',
      allowed_models: null,
      allowed_addresses: null,
      scopes: '[]',
      ...noAllowance,
      created_at: 0,
      expires_at: null,
      revoked_at: null,
    }
    const refusal = await store.db
      .insertInto('api_keys')
      .values(row)
      .execute()
      .catch((error: Error) => error.message)
    expect(refusal).to.match(/foreign key/i)
    await store.db.insertInto('accounts').values(accountRow('acc_none')).execute()
    await store.db.insertInto('api_keys').values(row).execute()
    expect(await countOutside('api_keys')).to.equal(1)
  })
})
