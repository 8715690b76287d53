import { makeFolder } from './folder.ts'
import { openSqliteStore, type SqliteStoreOptions } from './sqlite-store.ts'
import type { PostgresLimits } from './postgres-store.ts'
import type { Store } from './store.ts'

type Options = SqliteStoreOptions & { limits: PostgresLimits }

type Place = {
  /** The address of a PostgreSQL, with its password; undefined for the file in `dataDir`. */
  databaseUrl?: string | undefined
  /** Told of what takes a while, in a sentence without secrets. */
  notice?: (sentence: string) => void
}

/** Opens the store, creating and migrating it as needed. Throws a StoreError. */
export async function openStore(options: Options, place: Place = {}): Promise<Store> {
  const { databaseUrl: url, notice = () => undefined } = place
  // Also where the store is a server: the journal is in the folder.
  makeFolder(options.dataDir)
  if (url === undefined) return openSqliteStore(options)
  // Who does not use it does not load it.
  const { openPostgresStore } = await import('./postgres-store.ts')
  return openPostgresStore({ url, limits: options.limits, notice })
}
