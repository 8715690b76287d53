import { existsSync } from 'node:fs'
import { makeFolder } from './folder.ts'
import type { PostgresLimits } from './postgres-store.ts'
import { openSqliteStore, type SqliteStoreOptions } from './sqlite-store.ts'
import { assertSchema } from './migrations.ts'
import type { Notice, Store } from './store.ts'

type Options = SqliteStoreOptions & { limits: PostgresLimits }

/**
 * Opens the store, creating and migrating it as `schemaChange` lets it: PostgreSQL where there is a
 * `databaseUrl`, else the files in `dataDir`. Throws a StoreError.
 */
export async function openStore(
  options: Options,
  { databaseUrl: url }: { databaseUrl: string | undefined },
  notice: Notice = () => undefined,
): Promise<Store> {
  const { dataDir, schemaChange = 'migrate' } = options
  // Also where the store is a server: the journal is in the folder.
  if (schemaChange !== 'none') makeFolder(dataDir)
  else if (url === undefined && !existsSync(dataDir))
    assertSchema([], { change: 'none', place: dataDir })
  if (url === undefined) return openSqliteStore(options, notice)
  // Who does not use it does not load it.
  const { openPostgresStore } = await import('./postgres-store.ts')
  return openPostgresStore({ url, limits: options.limits, notice, schemaChange })
}
