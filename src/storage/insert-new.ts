import type { Insertable, Kysely } from 'kysely'
import type { Tables } from './tables.ts'

/** Inserts a row unless its key is there already; returns whether it was inserted. */
export async function insertNew<Name extends keyof Tables>(
  db: Kysely<Tables>,
  table: Name,
  row: Insertable<Tables[Name]>,
): Promise<boolean> {
  const inserting = db.insertInto(table).values(row)
  const { numInsertedOrUpdatedRows } = await inserting
    .onConflict((one) => one.doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows !== 0n
}
