import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { Kysely, sql } from 'kysely'
import { migratorFor } from '../../src/storage/migrations.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { storePath, type Store } from '../../src/storage/store.ts'
import type { Tables, UsageTable } from '../../src/storage/tables.ts'
import { makeFolder, projectFolder, type TemporaryFolder } from '../support/folder.ts'
import { openTestStore } from '../support/store.ts'
import { usageRow } from '../support/usage-row.ts'
import { accountRow } from '../support/callers.ts'

describe('opening a store', () => {
  let folder: TemporaryFolder
  let dataDir: string
  beforeEach(() => {
    folder = makeFolder()
    dataDir = join(folder.path, 'data')
  })
  afterEach(() => folder.remove())

  const open = () => openTestStore(dataDir)
  const closing = async <T>(run: (store: Store) => Promise<T>): Promise<T> => {
    const store = await open()
    try {
      return await run(store)
    } finally {
      await store.close()
    }
  }
  const migrationsRun = (store: Store) =>
    sql<{ name: string; timestamp: string }>`SELECT * FROM kysely_migration`.execute(store.db)

  it('creates its folder with mode 0700', async () => {
    await closing(async () => undefined)
    expect(statSync(dataDir).mode & 0o777).to.equal(0o700)
  })

  it('runs each migration once and keeps existing rows', async () => {
    const account = accountRow('acc_1', 'kept')
    const first = await closing(async (store) => {
      await store.db.insertInto('accounts').values(account).execute()
      return (await migrationsRun(store)).rows
    })
    const [second, accounts] = await closing(async (store) => [
      (await migrationsRun(store)).rows,
      await store.db.selectFrom('accounts').selectAll().execute(),
    ])
    expect(first).to.have.length.above(0)
    expect(second).to.deep.equal(first)
    expect(accounts).to.deep.equal([account])
  })

  it('migrates a ledger whose rows were ordered by id', async () => {
    const rows = [3, 1, 2].map((at) => usageRow(`req_${at}`, at))
    mkdirSync(dataDir, { recursive: true })
    const path = storePath(dataDir)
    const { dialect } = openSqlite({
      path,
      durability: 'normal',
      busyTimeoutMs: 1000,
      queueMax: 10,
    })
    const older = new Kysely<Tables>({ dialect })
    await migratorFor(older, 'sqlite').migrateTo('0001_accounts_keys_usage')
    const columns = await sql<{ name: string }>`SELECT name FROM pragma_table_info('usage')`
      .execute(older)
      .then((found) => found.rows.map(({ name }) => name))
    const known = rows.map((row) =>
      Object.fromEntries(Object.entries(row).filter(([name]) => columns.includes(name))),
    )
    // The cast is safe: the rows contain only columns that exist before the migration.
    await older
      .insertInto('usage')
      .values(known as UsageTable[])
      .execute()
    await older.destroy()
    const [kept, schema] = await closing(async ({ db }) => [
      await db.selectFrom('usage').selectAll().execute(),
      await sql<{ sql: string }>`SELECT sql FROM sqlite_schema WHERE name = 'usage'`.execute(db),
    ])
    expect(kept).to.deep.equal(rows.toSorted((a, b) => a.at - b.at))
    expect(schema.rows).to.have.length(1)
    expect(schema.rows[0]!.sql).to.include('without rowid')
  })

  it('works several times at once in one process', async () => {
    const stores = await Promise.all([open(), open(), open(), open()])
    const each = await Promise.all(stores.map(migrationsRun))
    await Promise.all(stores.map((store) => store.close()))
    expect(new Set(each.map(({ rows }) => JSON.stringify(rows)))).to.have.property('size', 1)
  })

  describe('of a newer version', () => {
    const message = 'The store was written by a newer version of the gateway. Update the gateway.'
    beforeEach(() =>
      closing((store) =>
        sql`INSERT INTO kysely_migration VALUES ('9999_from_the_future', '')`.execute(store.db),
      ),
    )

    it('is refused with a clear message, and is not changed', async () => {
      const refusal = await open().catch((error: unknown) => error)
      expect(refusal).to.be.an('error').with.property('message', message)
      const again = await open().catch((error: unknown) => error)
      expect(again).to.have.property('message', message)
    })
  })

  it('refuses a file that is not a store, and names it', async () => {
    await closing(async () => undefined)
    writeFileSync(join(dataDir, 'gateway.db'), 'these are not the bytes of a database at all')
    const refusal = await open().catch((error: unknown) => error)
    expect(refusal).to.be.an('error')
    expect((refusal as Error).message).to.match(
      /gateway\.db cannot be opened: it is not a database/,
    )
  })

  it('creates the tables and columns that the README describes', async () => {
    const readme = readFileSync(join(projectFolder, 'src/storage/README.md'), 'utf8')
    const documented = new Map(
      readme
        .split(/^## /m)
        .slice(1)
        .map((section) => [
          /^`(\w+)`/.exec(section)?.[1] ?? '',
          [...section.matchAll(/^\| `(\w+)` *\|/gm)].map(([, column]) => column),
        ]),
    )
    const tables = await closing(({ db }) => db.introspection.getTables())
    for (const { name, columns } of tables) {
      expect(documented.get(name), name).to.deep.equal(columns.map((column) => column.name))
    }
    expect(tables.map(({ name }) => name)).to.include.members(['accounts', 'api_keys', 'usage'])
  })
})
