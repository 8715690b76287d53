import { existsSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { loadConfig } from '../../src/settings/config.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { forEachStore, runIn } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { beforeFirst, withLaterMigration } from '../support/later-migration.ts'
import { runCommand } from '../support/command-line.ts'

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
  const makeStore = async () => {
    const { config } = loadConfig({ DATA_DIR: dataDir() })
    const store = await openStore(config, { databaseUrl: url })
    await store.close()
  }
  const setSchema = async (name: string) => {
    const first = 'select min(name) from kysely_migration'
    const change = `update kysely_migration set name = '${name}' where name = (${first})`
    if (url !== undefined) return runIn(url, change)
    const database = new DatabaseSync(file())
    database.exec(change)
    return database.close()
  }
  const state = async () => {
    if (url === undefined) return existsSync(file()) && readFileSync(file(), 'base64')
    const found = await runIn(url, tables)
    const ran = found.length === 0 ? [] : await runIn(url, 'select * from kysely_migration')
    return [...found, ...ran]
  }

  const refusedBy = async (commands: readonly string[], words: RegExp) => {
    const before = await state()
    for (const command of commands) {
      const { code, stdout, stderr } = await run(command)
      expect(code, command).to.equal(1)
      expect(command === 'doctor' ? stdout : stderr, command).to.match(words)
      expect(stderr.trim().split('\n'), command).to.have.length(1)
      expect(await state(), command).to.deep.equal(before)
    }
  }

  it('is not migrated by a command, which names the remedy', async () => {
    await makeStore()
    await withLaterMigration(() =>
      refusedBy(
        [...reading, ...making],
        /older version.* lacks 1 migration\. Run `npm run -s gateway -- migrate`, or start/,
      ),
    )
  })

  it('is readable after migrate', async () => {
    await makeStore()
    await withLaterMigration(async () => {
      expect((await run('migrate')).stdout).to.match(
        /^Ran 1 migration on 0 calls:\n {2}9000_later /,
      )
      const before = await state()
      expect((await run('accounts list')).stdout).to.include('There are no accounts')
      expect(await state()).to.deep.equal(before)
    })
  })

  it('is refused if it is from before version 0.1, and the remedy is named', async () => {
    await makeStore()
    await setSchema('0028_running_responses')
    await refusedBy([...reading, ...making, 'migrate', 'migrate --dry-run'], beforeFirst)
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
