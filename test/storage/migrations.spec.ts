import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { sql } from 'kysely'
import { migrations } from '../../src/storage/migrations.ts'
import { storePath, type Store } from '../../src/storage/store.ts'
import { makeFolder, projectFolder, type TemporaryFolder } from '../support/folder.ts'
import { beforeFirst, later, withLaterMigration } from '../support/later-migration.ts'
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

  it('runs the migrations that a store of an older version lacks', async () => {
    const row = usageRow('req_1', 1)
    await closing((store) => store.commit(store.insertions('usage', [row])))
    const [rows, ran] = await withLaterMigration(() =>
      closing(async (store) => [
        await store.db.selectFrom('usage').selectAll().execute(),
        (await migrationsRun(store)).rows.map(({ name }) => name),
      ]),
    )
    expect(rows).to.deep.equal([{ ...row, later_tokens: 7 }])
    expect(ran).to.deep.equal([...Object.keys(migrations).toSorted(), later])
  })

  it('works several times at once in one process', async () => {
    const stores = await Promise.all([open(), open(), open(), open()])
    const each = await Promise.all(stores.map(migrationsRun))
    await Promise.all(stores.map((store) => store.close()))
    expect(new Set(each.map(({ rows }) => JSON.stringify(rows)))).to.have.property('size', 1)
  })

  for (const [name, schema, words] of [
    ['of a newer version', '9999_from_the_future', /a newer version of the gateway\. Update/],
    ['from before version 0.1', '0028_running_responses', beforeFirst],
  ] as const)
    it(`${name} is refused with a clear message, and is not changed`, async () => {
      await closing((store) =>
        sql`INSERT INTO kysely_migration VALUES (${schema}, '')`.execute(store.db),
      )
      const before = readFileSync(storePath(dataDir))
      for (let attempt = 1; attempt <= 2; attempt++)
        expect(await open().catch(String)).to.match(words)
      expect(readFileSync(storePath(dataDir)).equals(before)).to.equal(true)
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
