import { readdirSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { loadConfig } from '../../src/settings/config.ts'
import { migrateFolder } from '../../src/storage/copies/migrate.ts'
import { serveFolder } from '../../src/storage/folder-lock.ts'
import { migrations } from '../../src/storage/migrations.ts'
import { migrateDatabase } from '../../src/storage/postgres-store.ts'
import { storePath } from '../../src/storage/store.ts'
import { runIn } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { later, withLaterMigration } from '../support/later-migration.ts'
import { programPath } from '../support/program-path.ts'
import { sharedPostgres } from '../support/servers/postgres.ts'
import { openTestStore } from '../support/store.ts'
import { usageRow } from '../support/usage-row.ts'

/** The migrations of this version. */
const all = Object.keys(migrations).toSorted()

describe('a store that is migrated by command', () => {
  let folder: TemporaryFolder
  beforeEach(() => (folder = makeFolder()))
  afterEach(() => folder.remove())

  const run = (dryRun: boolean) => migrateFolder(folder.path, dryRun)
  const makeOld = async () => {
    const store = await openTestStore(folder.path)
    const row = { ...usageRow('a', 1), mode: 'live', cost_nano_usd: 77 }
    await store.commit(store.insertions('usage', [row]))
    await store.close()
  }
  const inFile = (sql: string) => {
    const database = new DatabaseSync(storePath(folder.path))
    try {
      return database.prepare(sql).all()
    } finally {
      database.close()
    }
  }
  const ran = () =>
    inFile('SELECT name FROM kysely_migration ORDER BY name').map(({ name }) => name)

  it('is tried on a copy, also while a gateway uses it, and then migrated', async () => {
    await makeOld()
    await withLaterMigration(async () => {
      const serving = await serveFolder({
        dataDir: folder.path,
        waitMs: 0,
        onWait: () => undefined,
      })
      const tried = await run(true)
      expect(ran()).to.deep.equal(all)
      expect(tried.calls).to.equal(1)
      expect(tried.runs.map(({ name }) => name)).to.deep.equal([later])
      expect(await run(false).catch(String)).to.include('is in use: a running gateway uses it')
      serving.release()
      expect((await run(false)).runs.map(({ name }) => name)).to.deep.equal([later])
      expect(ran()).to.deep.equal([...all, later])
      expect(inFile('SELECT cost_nano_usd cost FROM usage')[0]).to.include({ cost: 77 })
      expect((await run(true)).runs).to.deep.equal([])
    })
    expect(readdirSync(folder.path).filter((name) => name.startsWith('trial-'))).to.deep.equal([])
  })

  it('is not changed if a migration fails, or changes the costs of the ledger', async () => {
    await makeOld()
    for (const [statement, words] of [
      ['create table reservations (x)', /cannot be migrated: table .*reservations/],
      ['delete from usage', /changed the calls or costs of the ledger|is not a usable store/],
    ] as const) {
      expect(await withLaterMigration(() => run(true), statement).catch(String)).to.match(words)
      expect(ran()).to.deep.equal(all)
    }
    const failing = 'create table reservations (x)'
    expect(await withLaterMigration(() => run(false), failing).catch(String)).to.match(
      /reservations/,
    )
    expect(ran()).to.deep.equal(all)
    expect(readdirSync(folder.path).filter((name) => name.startsWith('trial-'))).to.deep.equal([])
  })

  it('is not copied or read in a dry run if its list has every migration', async () => {
    await makeOld()
    // Reading the store would find the missing sums.
    inFile('DELETE FROM usage_hours')
    expect(await run(true)).to.deep.equal({ runs: [], calls: 0 })
  })

  it('is refused if it is newer, and reported if it is missing', async () => {
    expect(await run(true)).to.deep.equal({ runs: [], calls: undefined })
    await makeOld()
    inFile(`INSERT INTO kysely_migration VALUES ('9999_later', '2030')`)
    expect(await run(true).catch(String)).to.include(
      'was written by a newer version of the gateway',
    )
  })

  it('is tried on PostgreSQL in a transaction that is rolled back', async function () {
    programPath('postgres', this)
    const url = await (await sharedPostgres()).createDatabase()
    const { limits } = loadConfig({}).config
    const change = (keeps: boolean) =>
      migrateDatabase({ url, limits, notice: () => undefined, keeps })
    const tables = () => runIn(url, `select tablename from pg_tables where schemaname = 'public'`)
    const tried = await change(false)
    expect(tried.runs.map(({ name }) => name)).to.deep.equal(all)
    expect(await tables()).to.deep.equal([])
    expect((await change(true)).runs).to.have.length(all.length)
    expect(await change(false)).to.deep.equal({ runs: [], calls: 0 })
    const collations = await runIn(
      url,
      `select distinct collation_name from information_schema.columns
       where table_schema = 'public' and data_type = 'text'`,
    )
    expect(collations).to.deep.equal([{ collation_name: 'C' }])
    const [again] = await withLaterMigration(() => change(true)).then(({ runs }) => runs)
    expect(again).to.include({ name: later })
    await runIn(url, `insert into kysely_migration values ('9999_later', '2030')`)
    expect(await change(true).catch(String)).to.include('was written by a newer version')
  })
})
