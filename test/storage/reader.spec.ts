import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { Kysely, sql } from 'kysely'
import { GatewayError } from '../../src/core/error.ts'
import { openSqliteReader } from '../../src/storage/sqlite-store.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { storePath, type Store } from '../../src/storage/store.ts'
import type { Tables } from '../../src/storage/tables.ts'
import { forEachStore } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openTestStore } from '../support/store.ts'
import { until } from '../support/until.ts'
import { usageRow } from '../support/usage-row.ts'

/** A query that exceeds the time limit. */
const slow = sql`
  WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 12000000)
  SELECT count(*) FROM n`

describe('the reader of reports', () => {
  let folder: TemporaryFolder
  let store: Store
  let written: number
  const open = async (limits: Parameters<typeof openTestStore>[2] = {}) => {
    store = await openTestStore(folder.path, 'normal', limits)
  }
  beforeEach(() => {
    folder = makeFolder()
    written = 0
  })
  afterEach(async () => {
    await store.close()
    folder.remove()
  })

  const commit = async (count: number) => {
    for (let left = count; left > 0; left--) {
      const row = usageRow(`req_${String(++written).padStart(8, '0')}`, written)
      await store.commit(store.insertions('usage', [row]))
    }
  }
  const rowsSeen = async (db = store.reader.db) => {
    const found = await db
      .selectFrom('usage')
      .select((one) => one.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    return found.count
  }
  const logBytes = () => statSync(`${storePath(folder.path)}-wal`).size

  it('keeps the log from restarting while it reads, and lets it restart afterwards', async () => {
    await open()
    await commit(1000)
    const usual = logBytes()
    await store.reader.db.transaction().execute(async (reading) => {
      const before = await rowsSeen(reading)
      await commit(2000)
      // The reader sees a snapshot, and commits do not wait for the reader.
      expect(await rowsSeen(reading)).to.equal(before)
    })
    const grown = logBytes()
    expect(grown).to.be.above(2 * usual)
    // These commits, more than before, overwrite the start of the log.
    await commit(4000)
    expect(logBytes()).to.be.below(1.1 * grown)
    expect(await rowsSeen()).to.equal(written)
  })

  it('lets the log restart between consecutive reports', async () => {
    await open()
    const path = join(folder.path, 'log.db')
    const file = { path, durability: 'normal', busyTimeoutMs: 100 } as const
    const { dialect, commit: write, restartLog, ready } = openSqlite({ ...file, queueMax: 10 })
    const db = new Kysely<Tables>({ dialect })
    await sql`create table texts (text text)`.execute(db)
    ready(10_000)
    const often = { timeoutMs: 10_000, waitingMax: 1, perAccountMax: 1, logRestartMs: 0 }
    const reader = openSqliteReader({ ...file, ...often, restartLog })
    const insert = { sql: 'insert into texts values (?)', parameters: ['t'.repeat(4000)] }
    const sizes: number[] = []
    for (let report = 0; report < 8; report++) {
      await reader.db.transaction().execute(async (reading) => {
        await sql`select count(*) from texts`.execute(reading)
        // Commits often enough to trigger checkpoints.
        for (let left = 700; left > 0; left--) await write([insert])
      })
      sizes.push(statSync(`${path}-wal`).size)
    }
    await reader.close()
    await db.destroy()
    expect(Math.max(...sizes), String(sizes)).to.be.below(2 * sizes[0]!)
  })

  it('refuses a report that takes too long, and accepts later ones', async () => {
    await open({ reportTimeoutMs: 300 })
    await commit(1)
    const failure = await slow.execute(store.reader.db).catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(GatewayError)
    expect(failure).to.include({ code: 'overloaded' })
    expect((failure as GatewayError).message).to.equal(
      'The report took longer than 300 ms. Request a shorter range.',
    )
    // Writes do not wait for the reader.
    await commit(1)
    await until(
      'the reader accepts a query',
      async () => (await rowsSeen().catch(() => 0)) === written,
    )
  })
})

forEachStore('a report that takes too long', (kind) => {
  it('is cancelled with an error, and the next one works', async () => {
    const folder = makeFolder()
    const store = await openTestStore(folder.path, 'normal', { reportTimeoutMs: 300 })
    const query = kind === 'sqlite' ? slow : sql`select pg_sleep(10)`
    const error: unknown = await query.execute(store.reader.db).catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(GatewayError)
    expect(error).to.include({
      code: 'overloaded',
      message: 'The report took longer than 300 ms. Request a shorter range.',
    })
    const next = () =>
      sql`select 1`.execute(store.reader.db).then(
        () => true,
        () => false,
      )
    // PostgreSQL cancels the slow query. SQLite terminates the reading thread, and starts another.
    if (kind === 'postgres') expect(await next()).to.equal(true)
    else await until('the next query succeeds', next)
    await store.close()
    folder.remove()
  })
})
