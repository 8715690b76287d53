import { sql, type Kysely } from 'kysely'
import type { SqlDialect } from '../sql-dialect.ts'
import { reserveWithProcess } from './budget-functions.ts'

/** The process whose call holds something, so that it comes free when the process has ended. */
export async function addReservationProcesses(
  db: Kysely<unknown>,
  dialect: SqlDialect,
): Promise<void> {
  await db.schema.alterTable('reservations').addColumn('process', 'text').execute()
  if (dialect === 'postgres') await sql.raw(reserveWithProcess).execute(db)
}
