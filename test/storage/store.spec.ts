import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { sql } from 'kysely'
import { StoreError } from '../../src/storage/store-error.ts'
import type { Store } from '../../src/storage/store.ts'
import type { UsageTable } from '../../src/storage/tables.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openTestStore } from '../support/store.ts'
import { usageRow } from '../support/usage-row.ts'
import { accountRow } from '../support/callers.ts'
import { noAllowance } from '../../src/accounts/allowance.ts'

const rowsFrom = (start: number, count: number): UsageTable[] =>
  Array.from({ length: count }, (_, index) => usageRow(`row_${start + index}`))

const insert = (store: Store, rows: readonly UsageTable[]) =>
  store.commit(store.insertions('usage', rows))

describe('the store', () => {
  let folder: TemporaryFolder
  let store: Store
  /** Another process's view of the file. */
  let outside: DatabaseSync
  beforeEach(async () => {
    folder = makeFolder()
    store = await openTestStore(folder.path)
    outside = new DatabaseSync(join(folder.path, 'gateway.db'))
  })
  afterEach(async () => {
    outside.close()
    await store.close()
    folder.remove()
  })

  const countOutside = (table: string) =>
    Number(outside.prepare(`SELECT count(*) AS count FROM ${table}`).get()!['count'])

  it('has committed a group when it says so', async () => {
    await insert(store, rowsFrom(0, 3))
    expect(countOutside('usage')).to.equal(3)
  })

  for (const durability of ['normal', 'full'] as const) {
    it(`commits a group as a whole, with durability ${durability}: nobody sees a part of it`, async () => {
      const other = await openTestStore(folder.path, durability)
      const groups = 40
      const size = 250
      const seen = new Set<number>()
      const writing = new AbortController()
      const write = async () => {
        for (let group = 0; group < groups; group++) {
          await insert(other, rowsFrom(group * size, size))
          await new Promise((resolve) => setImmediate(resolve))
        }
      }
      const written = write().finally(() => writing.abort())
      while (!writing.signal.aborted) {
        seen.add(countOutside('usage'))
        await new Promise((resolve) => setImmediate(resolve))
      }
      await written
      await other.close()
      expect([...seen].filter((count) => count % size !== 0)).to.deep.equal([])
      expect(seen.size).to.be.above(2)
      expect(countOutside('usage')).to.equal(groups * size)
    })
  }

  it('waits for another process that writes, and holds up nothing meanwhile', async () => {
    await insert(store, rowsFrom(0, 1))
    outside.exec('BEGIN IMMEDIATE')
    let committed = false
    const inserted = insert(store, rowsFrom(1, 2)).then(() => {
      committed = true
    })
    const turns = 200
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(committed).to.equal(false)
    outside.exec('COMMIT')
    await inserted
    expect(countOutside('usage')).to.equal(3)
  })

  it('moves its log into the file under steady writing, so that the log does not grow', async () => {
    const commits = 3000
    for (let commit = 0; commit < commits; commit++) {
      await insert(store, rowsFrom(commit, 1))
    }
    const logMiB = statSync(join(folder.path, 'gateway.db-wal')).size / 2 ** 20
    // A commit changes three pages of 4 KiB.
    expect(logMiB).to.be.below(12)
    expect(countOutside('usage')).to.equal(commits)
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
    const failed = store.commit([change('acc_1', 'lost'), ...store.insertions('usage', [row!])])
    expect(await failed.catch((error: unknown) => error)).to.be.instanceOf(StoreError)
    const { name } = await store.db.selectFrom('accounts').selectAll().executeTakeFirstOrThrow()
    expect(name).to.equal('settled')
    expect(countOutside('usage')).to.equal(1)
  })

  it('keeps nothing of a group with one bad row, and rejects that group alone', async () => {
    const good = rowsFrom(0, 2)
    const bad = [...rowsFrom(10, 2), usageRow('row_0')]
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

  it('rejects a bad query and goes on', async () => {
    const refusal = await sql`SELECT nothing FROM nowhere`
      .execute(store.db)
      .catch((e: unknown) => e)
    expect(refusal).to.be.an('error').with.property('name', 'StoreError')
    expect(await store.db.selectFrom('usage').selectAll().execute()).to.deep.equal([])
  })

  it('shows nobody what a transaction has not committed', async () => {
    const written = Promise.withResolvers<void>()
    const finish = Promise.withResolvers<void>()
    const transaction = store.db.transaction().execute(async (inside) => {
      await inside.insertInto('accounts').values(accountRow('acc_1')).execute()
      written.resolve()
      await finish.promise
    })
    await written.promise
    const during = countOutside('accounts')
    const waiting = store.db.selectFrom('accounts').select('id').execute()
    finish.resolve()
    await transaction
    expect(during).to.equal(0)
    expect(await waiting).to.deep.equal([{ id: 'acc_1' }])
    expect(countOutside('accounts')).to.equal(1)
  })

  it('undoes a transaction that fails', async () => {
    const failing = store.db.transaction().execute(async (inside) => {
      await inside.insertInto('accounts').values(accountRow('acc_1')).execute()
      throw new Error('changed my mind')
    })
    expect(await failing.catch((error: Error) => error.message)).to.equal('changed my mind')
    expect(countOutside('accounts')).to.equal(0)
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
    expect(refusal).to.include('FOREIGN KEY')
    await store.db.insertInto('accounts').values(accountRow('acc_none')).execute()
    await store.db.insertInto('api_keys').values(row).execute()
    expect(countOutside('api_keys')).to.equal(1)
  })

  for (const { durability, synchronous } of [
    { durability: 'normal', synchronous: 1 },
    { durability: 'full', synchronous: 2 },
  ] as const) {
    it(`flushes as DURABILITY=${durability} says`, async () => {
      const other = await openTestStore(folder.path, durability)
      const { rows } = await sql`PRAGMA synchronous`.execute(other.db)
      const journal = await sql`PRAGMA journal_mode`.execute(other.db)
      await other.close()
      expect(rows).to.deep.equal([{ synchronous }])
      expect(journal.rows).to.deep.equal([{ journal_mode: 'wal' }])
    })
  }

  for (const durability of ['normal', 'full'] as const) {
    it(`refuses a commit after its end, with durability ${durability}`, async () => {
      const other = await openTestStore(folder.path, durability)
      await insert(other, rowsFrom(0, 1))
      await other.close()
      const refusal = await insert(other, rowsFrom(1, 1)).catch((error: unknown) => error)
      expect(refusal).to.be.instanceOf(StoreError)
      expect(countOutside('usage')).to.equal(1)
    })
  }
})
