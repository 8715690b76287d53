import type { Kysely } from 'kysely'
import { bytesType, type SqlDialect } from '../sql-dialect.ts'

/** What the processes of one store agree on and keep to themselves. */
export async function createGatewaySecrets(
  db: Kysely<unknown>,
  dialect: SqlDialect,
): Promise<void> {
  await db.schema
    .createTable('gateway_secrets')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('secret', bytesType(dialect), (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute()
}
