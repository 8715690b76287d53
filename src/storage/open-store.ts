import { existsSync } from 'node:fs'
import { makeFolder } from './folder.ts'
import type { PostgresLimits } from './postgres-store.ts'
import { openSqliteStore, type SqliteStoreOptions } from './sqlite-store.ts'
import { assertSchema } from './migrations.ts'
import type { Notice, Store } from './store.ts'

type Options = SqliteStoreOptions & { limits: PostgresLimits }

/**
 * Opens the store: PostgreSQL if `databaseUrl` is set, else the files in `dataDir`. Creates and
 * migrates it as `schemaChange` allows. Throws a StoreError.
 *
 * @example
 * const { config, secrets } = loadConfig({ DATA_DIR: folder })
 * const store = await openStore(config, secrets)
 * const rows = await store.db.selectFrom('usage').selectAll().execute()
 */
export async function openStore(
  options: Options,
  { databaseUrl: url }: { databaseUrl: string | undefined },
  notice: Notice = () => undefined,
): Promise<Store> {
  const { dataDir, schemaChange = 'migrate' } = options
  // Needed with PostgreSQL too: the folder holds the journal.
  if (schemaChange !== 'none') makeFolder(dataDir)
  else if (url === undefined && !existsSync(dataDir))
    assertSchema([], { change: 'none', place: dataDir })
  if (url === undefined) return openSqliteStore(options, notice)
  // The PostgreSQL driver is loaded only if it is used.
  const { openPostgresStore } = await import('./postgres-store.ts')
  return openPostgresStore({ url, limits: options.limits, notice, schemaChange })
}
