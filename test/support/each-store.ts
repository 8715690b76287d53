import pg from 'pg'
import { loadConfig } from '../../src/settings/config.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { programPath } from './program-path.ts'

/** The stores that there are. */
const kinds = { sqlite: 'SQLite', postgres: 'PostgreSQL' } as const
export type StoreKind = keyof typeof kinds

let current: StoreKind = 'sqlite'

/**
 * Declares the same suite for each store: what it starts and opens uses that store. `TEST_STORES`
 * names the only one (scripts/test.ts).
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
/** Migrated, and with rows of a test that is over. */
const used: Promise<string>[] = []
let template: Promise<string> | undefined

/** The database of a folder for data; undefined on SQLite, whose file is in the folder. */
export async function databaseOf(folder: string): Promise<string | undefined> {
  const known = databases.get(folder)
  if (known !== undefined || current === 'sqlite') return known?.url
  const url = emptyDatabase()
  databases.set(folder, { url, isShared: true })
  return url
}

/** Makes a database that of a folder, whatever the store of the suite. */
export function useDatabase(folder: string, url: string): void {
  databases.set(folder, { url: Promise.resolve(url), isShared: false })
}

/** To be called when a folder is removed: its database is emptied for another one. */
export function forgetDatabase(folder: string): void {
  const database = databases.get(folder)
  if (database?.isShared === true) used.push(database.url)
  databases.delete(folder)
}

/** A database with the tables of this version and nothing in them. */
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

// Imported when it is needed: what starts no PostgreSQL starts no program (scripts/test.ts).
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

/** Runs SQL in a database, as another program does. */
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
