import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { Kysely } from 'kysely'
import { migrate } from '../../src/storage/migrations.ts'
import { createPool } from '../../src/storage/postgres-pool.ts'
import { postgresDialect } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { forEachStore, runIn } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { runCommand } from '../support/command-line.ts'

const old = '0019_usage_details'
const reading = [
  'doctor',
  'usage',
  'accounts list',
  'keys list',
  'keys revoke a',
  'keys rotate a',
  'people password-link a@example.com',
  `export ${join(tmpdir(), 'rows.jsonl')}`,
]
const making = [
  'accounts create --name a',
  'keys create --mode test --name a',
  'setup-link',
  'oauth rotate-keys',
]

const tables = `
  select table_name, column_name, data_type from information_schema.columns
  where table_schema = 'public' order by 1, 2`

forEachStore('a store of another version', (kind) => {
  let folder: TemporaryFolder
  let url: string | undefined
  beforeEach(async () => {
    folder = makeFolder()
    url = kind === 'postgres' ? await emptyDatabase() : undefined
  })
  afterEach(() => folder.remove())

  const dataDir = () => join(folder.path, 'data')
  const file = () => join(dataDir(), 'gateway.db')
  const run = (command: string) =>
    runCommand(command.split(' '), { DATA_DIR: dataDir(), DATABASE_URL: url })
  const makeOld = async () => {
    mkdirSync(dataDir(), { mode: 0o700 })
    const options = { durability: 'normal', busyTimeoutMs: 1000, queueMax: 10 } as const
    const dialect =
      url === undefined
        ? openSqlite({ ...options, path: file() }).dialect
        : postgresDialect(createPool({ url, connectionsMax: 1, connectTimeoutMs: 5000 }))
    const db = new Kysely<unknown>({ dialect })
    await migrate(db, kind, old)
    await db.destroy()
  }
  const state = async () => {
    if (url === undefined) return existsSync(file()) && readFileSync(file(), 'base64')
    const found = await runIn(url, tables)
    const ran = found.length === 0 ? [] : await runIn(url, 'select * from kysely_migration')
    return [...found, ...ran]
  }

  it('is not migrated by a command, which names the remedy', async () => {
    await makeOld()
    const before = await state()
    for (const command of [...reading, ...making]) {
      const { code, stdout, stderr } = await run(command)
      expect(code, command).to.equal(1)
      expect(command === 'doctor' ? stdout : stderr).to.match(
        /older version.* lacks \d+ migrations\. Run `npm run -s gateway -- migrate`, or start/,
      )
      expect(stderr.trim().split('\n'), command).to.have.length(1)
      expect(await state(), command).to.deep.equal(before)
    }
  })

  it('is readable after migrate', async () => {
    await makeOld()
    expect((await run('migrate')).stdout).to.match(/^Ran \d+ migrations/)
    const before = await state()
    expect((await run('accounts list')).stdout).to.include('There are no accounts')
    expect(await state()).to.deep.equal(before)
  })

  it('is not created by a command that reads', async () => {
    const before = await state()
    for (const command of reading) {
      const { code, stdout, stderr } = await run(command)
      expect(code, command).to.equal(command === 'doctor' ? 0 : 2)
      expect(stdout + stderr).to.include('No store exists in')
      expect(await state(), command).to.deep.equal(before)
      expect(existsSync(dataDir()), command).to.equal(false)
    }
  })
})

// Imports dynamically, so that scripts/test.ts counts this spec as one that starts no program.
async function emptyDatabase(): Promise<string> {
  const { sharedPostgres } = await import('../support/servers/postgres.ts')
  return (await sharedPostgres()).createDatabase()
}
