import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { backUp } from '../../src/storage/copies/backup.ts'
import { exportStore } from '../../src/storage/copies/export.ts'
import { compatibleFrom, migrations, newestSchema } from '../../src/storage/migrations.ts'
import { runCommand } from '../support/command-line.ts'
import { forEachStore, useDatabase } from '../support/each-store.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { laterCompatible, withLaterMigration } from '../support/later-migration.ts'
import { openTestStore } from '../support/store.ts'

const body = { model: 'gpt-5.4-mini', messages: [{ role: 'user', content: 'Hello.' }] }
const own = Number.parseInt(newestSchema(), 10)
const sentence = `The store is newer (9000) than this version (${own}), and still works with it.`
const column = (name: string) => `alter table usage add column ${name} bigint`

forEachStore('a store that a newer version has migrated', (kind) => {
  let url: string | undefined
  let first: TestGateway
  beforeEach(async () => {
    url = kind === 'postgres' ? await emptyDatabase() : undefined
    first = await start()
  })
  afterEach(() => first.stop())

  const start = (options = {}) =>
    startGateway({ ...options, variables: url === undefined ? {} : { DATABASE_URL: url } })
  const open = () => {
    if (url !== undefined) useDatabase(first.dataDir, url)
    return openTestStore(first.dataDir)
  }
  const migrateTo = (name: string) =>
    withLaterMigration(async () => (await open()).close(), column('later_tokens'), name)
  const call = async (gateway: TestGateway, key: string) =>
    expect((await gateway.post('/v1/chat/completions', body, { key })).status).to.equal(200)

  it('is used by this version within its range, there and back again, and no call fails', async () => {
    await call(first, first.testKey)
    await migrateTo(laterCompatible)
    // The process that ran before the migration goes on.
    await call(first, first.testKey)
    for (let starts = 1; starts <= 2; starts++) {
      await using back = await start({ beside: first })
      expect(back.logText()).to.include(sentence)
      await call(back, first.testKey)
    }
    await migrateTo(laterCompatible)
    expect(await first.db.selectFrom('usage').selectAll().execute()).to.have.length(4)
  })

  for (const name of ['9000_later', `9000_later_from_${String(own + 1).padStart(4, '0')}`])
    it(`is refused outside its range, and ${name} is named`, async () => {
      await migrateTo(name)
      const refusal = await start({ beside: first }).catch(String)
      expect(refusal).to.include('was written by a newer version of the gateway. Update')
      expect(refusal).to.include(`Its migration ${name} needs schema ${compatibleFrom(name)}`)
    })

  it('is refused if it lacks a migration of this version', async () => {
    await migrateTo(laterCompatible)
    await withLaterMigration(
      async () => expect(await open().catch(String)).to.include('Update the gateway'),
      column('missed_tokens'),
      `${newestSchema()}_second`,
    )
  })

  it('is read by commands, which tell that it is newer; an export, which would lack columns, is refused', async () => {
    await migrateTo(laterCompatible)
    const variables = { DATA_DIR: first.dataDir, DATABASE_URL: url }
    const run = (words: string) => runCommand(words.split(' '), variables)
    expect((await run('doctor')).stdout).to.include(sentence)
    const { code, stderr } = await run('accounts list')
    expect({ code, stderr: stderr.trim() }).to.deep.equal({ code: 0, stderr: sentence })
    for (const migrate of ['migrate --dry-run', ...(kind === 'postgres' ? ['migrate'] : [])])
      expect((await run(migrate)).stdout, migrate).to.equal('The store is up to date.\n')
    const file = join(dirname(first.dataDir), 'copy')
    const store = await open()
    const exporting = exportStore({ store, dataDir: first.dataDir, file, replaces: false })
    expect(await exporting.catch(String)).to.include('Export it with the version that migrated it')
    await store.close()
    if (kind === 'postgres') return
    const made = await backUp({ dataDir: first.dataDir, file, replaces: false })
    expect(made.schema).to.equal(laterCompatible)
  })
})

describe('the names of migrations', () => {
  it('give the oldest schema that may go on, which never becomes lower', () => {
    const names = Object.keys(migrations).toSorted()
    for (const name of names) {
      expect(name).to.match(/^\d{4}_[a-z0-9_]+$/)
      expect(compatibleFrom(name), name).to.be.at.most(Number.parseInt(name, 10))
    }
    const lowest = names.map(compatibleFrom)
    expect(lowest).to.deep.equal(lowest.toSorted((one, other) => one - other))
    expect(new Set(names.map((name) => name.slice(0, 4)))).to.have.property('size', names.length)
  })
})

// Imports dynamically, so that scripts/test.ts counts this spec as one that starts no program.
async function emptyDatabase(): Promise<string> {
  const { sharedPostgres } = await import('../support/servers/postgres.ts')
  return (await sharedPostgres()).createDatabase()
}
