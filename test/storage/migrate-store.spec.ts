import { mkdirSync, readdirSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { Kysely } from 'kysely'
import { loadConfig } from '../../src/settings/config.ts'
import { migrateFolder } from '../../src/storage/copies/migrate.ts'
import { serveFolder } from '../../src/storage/folder-lock.ts'
import { migrate } from '../../src/storage/migrations.ts'
import { migrateDatabase } from '../../src/storage/postgres-store.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { storePath } from '../../src/storage/store.ts'
import { runIn } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { programPath } from '../support/program-path.ts'
import { sharedPostgres } from '../support/servers/postgres.ts'

const old = '0006_audit_events'

describe('a store that is migrated by command', () => {
  let folder: TemporaryFolder
  beforeEach(() => (folder = makeFolder()))
  afterEach(() => folder.remove())

  const run = (dryRun: boolean) => migrateFolder(folder.path, dryRun)
  const makeOld = async () => {
    mkdirSync(folder.path, { recursive: true })
    const path = storePath(folder.path)
    const options = { path, durability: 'normal', busyTimeoutMs: 1000, queueMax: 10 } as const
    const db = new Kysely<unknown>({ dialect: openSqlite(options).dialect })
    await migrate(db, 'sqlite', old)
    await db.destroy()
    inFile(`INSERT INTO usage (id, at, account_id, key_id, mode, face, modality, model, outcome, cache,
        input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, images, cost_nano_usd,
        cost_status, attempts, duration_ms)
      VALUES ('a', 1, 'acc', 'key', 'live', 'chat', 'chat', 'm', 'ok', 'miss', 1, 0, 1, 0, 0, 77,
        'exact', '[]', 1)`)
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
    const serving = await serveFolder({ dataDir: folder.path, waitMs: 0, onWait: () => undefined })
    const tried = await run(true)
    expect(ran()).to.have.length(6)
    expect(tried.before).to.include({ schema: old, calls: 1, costNanoUsd: '77' })
    const names = tried.runs.map(({ name }) => name)
    expect(names[0]).to.equal('0007_usage_pricing')
    expect(await run(false).catch(String)).to.include('is in use: a running gateway uses it')
    serving.release()
    expect((await run(false)).runs.map(({ name }) => name)).to.deep.equal(names)
    expect(ran()).to.have.length(6 + names.length)
    expect(inFile('SELECT cost_nano_usd cost FROM usage_hours')[0]).to.include({ cost: 77 })
    expect((await run(true)).runs).to.deep.equal([])
    expect(readdirSync(folder.path).filter((name) => name.startsWith('trial-'))).to.deep.equal([])
  })

  it('is not changed if a migration fails', async () => {
    await makeOld()
    // Creates a table that a later migration creates too.
    inFile('CREATE TABLE reservations (x)')
    for (const dryRun of [true, false]) {
      expect(await run(dryRun).catch(String)).to.match(/cannot be migrated: table .*reservations/)
      expect(ran()).to.have.length(6)
    }
    expect(readdirSync(folder.path).filter((name) => name.startsWith('trial-'))).to.deep.equal([])
  })

  it('is refused if it is newer, and reported if it is missing', async () => {
    expect(await run(true)).to.deep.equal({ runs: [], before: undefined })
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
    expect(tried.runs.length).to.be.above(13)
    expect(await tables()).to.deep.equal([])
    expect((await change(true)).runs).to.have.length(tried.runs.length)
    expect(await change(false)).to.deep.equal({ runs: [], calls: 0 })
    const collations = await runIn(
      url,
      `select distinct collation_name from information_schema.columns
       where table_name = 'usage' and data_type = 'text'`,
    )
    expect(collations).to.deep.equal([{ collation_name: 'C' }])
    await runIn(url, `insert into kysely_migration values ('9999_later', '2030')`)
    expect(await change(true).catch(String)).to.include('was written by a newer version')
  })
})
