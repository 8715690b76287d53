import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { databaseOf } from './each-store.ts'

/** Locks the store of a folder against writes, as another program can; the returned function unlocks it. */
export async function holdStore(folder: string): Promise<() => Promise<void>> {
  const url = await databaseOf(folder)
  if (url === undefined) {
    const file = new DatabaseSync(join(folder, 'gateway.db'))
    file.exec('BEGIN IMMEDIATE')
    return async () => file.close()
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('begin; lock table usage in exclusive mode')
  return () => client.end()
}
