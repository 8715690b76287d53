import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { loadConfig } from '../../src/settings/config.ts'
import { exportStore } from '../../src/storage/copies/export.ts'
import { importIntoDatabase, importIntoFolder } from '../../src/storage/copies/import.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { storePath } from '../../src/storage/store.ts'
import { accountRow } from '../support/callers.ts'
import { runIn } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { contentOf, insertRows, rowsFor } from '../support/random-rows.ts'
import { programPath } from '../support/program-path.ts'
import { sharedPostgres } from '../support/servers/postgres.ts'

describe('a store that moves to PostgreSQL and back', () => {
  let folder: TemporaryFolder
  before(function () {
    programPath('postgres', this)
    folder = makeFolder()
  })
  after(() => folder?.remove())

  const open = (dataDir: string, databaseUrl?: string) =>
    openStore(loadConfig({ DATA_DIR: dataDir }).config, { databaseUrl })
  const within = async <T>(
    store: Awaited<ReturnType<typeof open>>,
    run: (opened: typeof store) => Promise<T>,
  ) => {
    try {
      return await run(store)
    } finally {
      await store.close()
    }
  }
  const newFolder = () => join(mkdtempSync(join(folder.path, 'other-')), 'data')

  it('keeps its rows and sums', async function () {
    const first = newFolder()
    await (await open(first)).close()
    await fc.assert(
      fc.asyncProperty(rowsFor(storePath(first)), async (rows) => {
        const [from, to] = [newFolder(), newFolder()]
        const [there, back] = [join(folder.path, 'there.jsonl'), join(folder.path, 'back.jsonl')]
        await (await open(from)).close()
        insertRows(storePath(from), rows)
        const base = { replaces: true, dataDir: from }
        await within(await open(from), (store) => exportStore({ ...base, store, file: there }))
        const url = await (await sharedPostgres()).createDatabase()
        await within(await open(from, url), async (store) => {
          await importIntoDatabase({ store, file: there })
          await exportStore({ ...base, store, file: back })
        })
        await importIntoFolder({ dataDir: to, file: back })
        expect(contentOf(to)).to.deep.equal(contentOf(from))
        const again = await open(from, url)
        const refused = await importIntoDatabase({ store: again, file: there }).catch(String)
        await again.close()
        expect(refused).to.match(/an import needs an empty one\. Create another database/)
      }),
      { numRuns: 3 },
    )
  })

  it('leaves the database unchanged if an export is incomplete', async () => {
    const from = newFolder()
    const file = join(folder.path, 'cut.jsonl')
    const store = await open(from)
    await store.db.insertInto('accounts').values(accountRow('acc_1')).execute()
    await within(store, () => exportStore({ store, dataDir: from, file, replaces: true }))
    const url = await (await sharedPostgres()).createDatabase()
    const text = readFileSync(file, 'utf8').replace(/"sha256":"./, '"sha256":"x')
    writeFileSync(file, text)
    await within(await open(from, url), async (opened) => {
      const refused = await importIntoDatabase({ store: opened, file }).catch(String)
      expect(refused).to.include('the checksum does not match')
    })
    expect(await runIn(url, 'select count(*)::int as count from accounts')).to.deep.equal([
      { count: 0 },
    ])
  })
})
