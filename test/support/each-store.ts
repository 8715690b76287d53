import pg from 'pg'
import { loadConfig } from '../../src/settings/config.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { programPath } from './program-path.ts'

// Supported stores.
const kinds = { sqlite: 'SQLite', postgres: 'PostgreSQL' } as const
export type StoreKind = keyof typeof kinds

let current: StoreKind = 'sqlite'

/**
 * Declares a suite once per store; stores that it opens are of that kind. `TEST_STORES` names the
 * only store to test (scripts/test.ts).
 *
 * @example
 * forEachStore('budgets', () => {
 *   it('are never exceeded by calls at the same time', async () => {
 *     await using gateway = await startGateway()
 *   })
 * })
 */
export function forEachStore(name: string, suite: (kind: StoreKind) => void): void {
  for (const kind of Object.keys(kinds) as StoreKind[]) {
    if ((process.env['TEST_STORES'] ?? kind) !== kind) continue
    describe(`${name}, on ${kinds[kind]}`, () => {
      before(function () {
        if (kind === 'postgres') programPath('postgres', this)
        current = kind
      })
      after(() => void (current = 'sqlite'))
      suite(kind)
    })
  }
}

type Database = { url: Promise<string>; isShared: boolean }
const databases = new Map<string, Database>()
// Databases of finished tests, migrated and with rows, to be emptied and reused.
const used: Promise<string>[] = []
let template: Promise<string> | undefined

/** The database for a data folder; undefined for SQLite, whose file is in the folder. */
export async function databaseOf(folder: string): Promise<string | undefined> {
  const assigned = databases.get(folder)
  if (assigned !== undefined || current === 'sqlite') return assigned?.url
  const url = emptyDatabase()
  databases.set(folder, { url, isShared: true })
  return url
}

/** Assigns a database to a folder, independent of the suite's store. */
export function useDatabase(folder: string, url: string): void {
  databases.set(folder, { url: Promise.resolve(url), isShared: false })
}

/** Releases the database of a removed folder. A later test empties the database and uses it again. */
export function forgetDatabase(folder: string): void {
  const database = databases.get(folder)
  if (database?.isShared === true) used.push(database.url)
  databases.delete(folder)
}

/** A migrated database without rows. */
async function emptyDatabase(): Promise<string> {
  const again = used.pop()
  if (again !== undefined) {
    await runIn(await again, truncation)
    return again
  }
  const { createDatabase } = await startedPostgres()
  template ??= migrated()
  return createDatabase({ template: nameIn(await template) })
}

// Imported lazily, so that suites without PostgreSQL start no server (scripts/test.ts).
async function startedPostgres() {
  const { sharedPostgres } = await import('./servers/postgres.ts')
  return sharedPostgres()
}

async function migrated(): Promise<string> {
  const url = await (await startedPostgres()).createDatabase()
  const { config } = loadConfig({})
  const store = await openStore(config, { databaseUrl: url })
  await store.close()
  return url
}

const truncation = `
  do $$ begin
    perform pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid();
    execute (
      select 'truncate ' || string_agg(format('%I', tablename), ', ') from pg_tables
      where schemaname = 'public' and tablename not like 'kysely%');
  end $$`

/** Runs SQL in a database over a separate connection. */
export async function runIn(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}

function nameIn(url: string): string {
  return new URL(url).pathname.slice(1)
}
