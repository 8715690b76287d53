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

const rowsFrom = (start: number, count: number): UsageTable[] =>
  Array.from({ length: count }, (_, index) => usageRow(`row_${start + index}`))

const insert = (store: Store, rows: readonly UsageTable[]) =>
  store.commit(store.insertions('usage', rows))

describe('the store', () => {
  let folder: TemporaryFolder
  let store: Store
  /** A second connection, as another process would open. */
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

  it('has committed a group when the promise resolves', async () => {
    await insert(store, rowsFrom(0, 3))
    expect(countOutside('usage')).to.equal(3)
  })

  for (const durability of ['normal', 'full'] as const) {
    it(`commits a group as a whole, with durability ${durability}: no other connection sees a part of it`, async () => {
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

  it('waits for another process that writes, without blocking the event loop', async () => {
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

  it('checkpoints its log during steady writing, so that the log does not grow', async () => {
    const commits = 3000
    for (let commit = 0; commit < commits; commit++) {
      await insert(store, rowsFrom(commit, 1))
    }
    const logMiB = statSync(join(folder.path, 'gateway.db-wal')).size / 2 ** 20
    // Without checkpoints the log would have three pages of 4 KiB per commit.
    expect(logMiB).to.be.below(12)
    expect(countOutside('usage')).to.equal(commits)
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
    it(`refuses a commit after it was closed, with durability ${durability}`, async () => {
      const other = await openTestStore(folder.path, durability)
      await insert(other, rowsFrom(0, 1))
      await other.close()
      const refusal = await insert(other, rowsFrom(1, 1)).catch((error: unknown) => error)
      expect(refusal).to.be.instanceOf(StoreError)
      expect(countOutside('usage')).to.equal(1)
    })
  }
})
