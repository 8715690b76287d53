import type { Kysely } from 'kysely'

/** Programs that use a key, and refused attempts. */
export async function createKeyClients(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('key_clients')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('version', 'text')
    .addColumn('connected_at', 'bigint')
    .addColumn('last_seen_at', 'bigint', (column) => column.notNull())
    .addColumn('last_tool', 'text')
    .addColumn('last_tool_at', 'bigint')
    .execute()
  await db.schema
    .createIndex('key_clients_account')
    .on('key_clients')
    .columns(['account_id', 'last_seen_at', 'id'])
    .execute()
  await db.schema.createIndex('key_clients_key').on('key_clients').column('key_id').execute()
  await db.schema
    .createTable('refused_attempts')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text')
    .addColumn('key_id', 'text')
    .addColumn('reason', 'text', (column) => column.notNull())
    .addColumn('face', 'text', (column) => column.notNull())
    .addColumn('header', 'text')
    .addColumn('client_name', 'text')
    .addColumn('client_version', 'text')
    .addColumn('redirect_host', 'text')
    .addColumn('address', 'text')
    .addColumn('message', 'text', (column) => column.notNull())
    .addColumn('request_id', 'text')
    .addColumn('times', 'bigint', (column) => column.notNull())
    .addColumn('first_at', 'bigint', (column) => column.notNull())
    .addColumn('last_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createIndex('refused_attempts_account')
    .on('refused_attempts')
    .columns(['account_id', 'last_at', 'id'])
    .execute()
  await db.schema
    .createIndex('refused_attempts_last_at')
    .on('refused_attempts')
    .column('last_at')
    .execute()
}

/** Number of refused calls per key, hour and error code. */
export async function createRefusals(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('refusals')
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('hour_at', 'bigint', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('error_code', 'text', (column) => column.notNull())
    .addColumn('calls', 'bigint', (column) => column.notNull())
    .addColumn('last_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('refusals_key', ['account_id', 'hour_at', 'key_id', 'error_code'])
    .execute()
  await db.schema.createIndex('refusals_hour').on('refusals').column('hour_at').execute()
}
