import { expect } from 'chai'
import { Kysely, sql } from 'kysely'
import { createSumFolding } from '../../src/accounts/usage/sum-folding.ts'
import { migrate } from '../../src/storage/migrations.ts'
import { postgresDialect } from '../../src/storage/postgres.ts'
import { createPool } from '../../src/storage/postgres-pool.ts'
import type { Store } from '../../src/storage/store.ts'
import type { Tables, UsageTable } from '../../src/storage/tables.ts'
import { databaseOf, forEachStore, runIn } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { sharedPostgres } from '../support/servers/postgres.ts'
import { openTestStore } from '../support/store.ts'
import { until } from '../support/until.ts'
import { usageRow } from '../support/usage-row.ts'

const held = (id: string, at: number): UsageTable => ({
  ...usageRow(id, at),
  mode: 'live',
  outcome: 'unknown',
  cost_nano_usd: 1000,
})
const waiting = (db: Kysely<Tables>) => sql`select from usage_deltas`.execute(db)

type Both = { rows: number; sums: number; cost: number; cost_of_sums: number }
/** Calls and their cost by rows and by sums, in one snapshot. */
const bothSql = `
  select (select count(*)::int from usage) as rows,
    (select sum(calls)::int from usage_hours) as sums,
    (select sum(cost_nano_usd)::int from usage) as cost,
    (select sum(cost_nano_usd)::int from usage_hours) as cost_of_sums`

forEachStore('the deltas of the sums', (kind) => {
  if (kind === 'sqlite') return
  let folder: TemporaryFolder
  let store: Store
  let url: string
  const failures: unknown[] = []
  const onSwept = (error?: unknown) => void (error === undefined || failures.push(error))
  const insert = (rows: readonly UsageTable[]) => store.commit(store.insertions('usage', rows))

  beforeEach(async () => {
    folder = makeFolder()
    url = (await databaseOf(folder.path))!
    store = await openTestStore(folder.path)
  })
  afterEach(async () => {
    await store.close()
    folder.remove()
    expect(failures).to.deep.equal([])
  })

  it('and the sums together equal the rows at any moment, of two processes that fold', async () => {
    const foldings = [0, 1].map(() => createSumFolding({ store, clock: () => 0, onSwept }))
    const writes: number[] = []
    const write = async (writer: number) => {
      for (let group = 0; group < 25; group++) {
        const ids = [0, 1, 2, 3].map((number) => `req_${writer}_${group}_${number}`)
        await insert(ids.map((id, index) => held(id, index * 1_800_000)))
        // A call's own row takes the place of its provisional one.
        await store.db
          .deleteFrom('usage')
          .where('id', '=', ids[group % 4]!)
          .execute()
        writes.push(group)
      }
    }
    const seen: Both[] = []
    const read = async () => {
      while (writes.length < 100) seen.push((await runIn(url, bothSql))[0] as Both)
    }
    const foldAll = async () => {
      while (writes.length < 100) await Promise.all(foldings.map((one) => one.look()))
    }
    await Promise.all([...[0, 1, 2, 3].map(write), read(), foldAll()])
    expect(seen).not.to.be.empty
    for (const { rows, sums, cost, cost_of_sums } of seen)
      expect([sums, cost_of_sums]).to.deep.equal(rows === 0 ? [null, null] : [rows, cost])
    const [folding] = foldings
    await folding!.look()
    expect(folding!.waiting()).to.equal(0)
    expect((await waiting(store.db)).rows).to.deep.equal([])
    const [last] = await runIn(url, bothSql)
    expect(last).to.deep.equal({ rows: 300, sums: 300, cost: 300_000, cost_of_sums: 300_000 })
    for (const one of foldings) one.close()
  })

  it('are folded by another process after the one that held the lock', async () => {
    await insert([held('req_1', 1)])
    const folding = createSumFolding({ store, clock: () => 0, onSwept })
    await store.db.connection().execute(async (other) => {
      await sql`select pg_advisory_lock(${sql.lit(0x4d414703)})`.execute(other)
      await folding.look()
      expect(folding.waiting()).to.equal(1)
      await sql`select pg_advisory_unlock(${sql.lit(0x4d414703)})`.execute(other)
    })
    await folding.look()
    expect(folding.waiting()).to.equal(0)
    folding.close()
  })

  it('begin in a migration under load, whose writers wait and fail no insert', async () => {
    const older = await (await sharedPostgres()).createDatabase()
    const pool = createPool({ url: older, connectTimeoutMs: 5000, connectionsMax: 6 })
    const db = new Kysely<Tables>({ dialect: postgresDialect(pool) })
    try {
      await migrate(db, 'postgres', '0036_calls_of_unknown_cost_from_0035')
      const add = (id: string, on: Kysely<Tables> = db) => {
        const { tags: _later, ...row } = held(id, 1)
        return on.insertInto('usage').values(row).execute()
      }
      // An older gateway's connection has the functions and plans of the older schema.
      await db.connection().execute(async (old) => {
        await add('req_0', old)
        await sql`begin`.execute(old)
        await add('req_1', old)
        const migrated = migrate(db, 'postgres')
        const locked = sql<{ is: boolean }>`select exists (select from pg_locks
          where not granted and mode = 'ShareRowExclusiveLock') as is`
        await until('the migration waits', async () => (await locked.execute(db)).rows[0]!.is)
        const late = add('req_2')
        await sql`commit`.execute(old)
        await Promise.all([migrated, late])
        await add('req_3', old)
        await old.deleteFrom('usage').where('id', '=', 'req_0').execute()
      })
      const [both] = await runIn(older, bothSql)
      expect(both).to.deep.equal({ rows: 3, sums: 3, cost: 3000, cost_of_sums: 3000 })
    } finally {
      await db.destroy()
    }
  })
})
