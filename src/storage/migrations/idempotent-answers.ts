import type { Kysely } from 'kysely'
import { bytesType, type SqlDialect } from '../sql-dialect.ts'

/** Stored answers for requests that repeat an idempotency key. */
export async function createIdempotentAnswers(
  db: Kysely<unknown>,
  dialect: SqlDialect,
): Promise<void> {
  await db.schema
    .createTable('idempotent_answers')
    .addColumn('key_digest', 'text', (column) => column.primaryKey())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('operation', 'text', (column) => column.notNull())
    .addColumn('fingerprint', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('http_status', 'bigint')
    .addColumn('headers', 'text')
    .addColumn('body_bytes', 'bigint', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('deadline_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createIndex('idempotent_answers_expires_at')
    .on('idempotent_answers')
    .column('expires_at')
    .execute()
  await db.schema
    .createTable('idempotent_answer_pieces')
    .addColumn('answer_id', 'text', (column) => column.notNull())
    .addColumn('position', 'bigint', (column) => column.notNull())
    .addColumn('content', bytesType(dialect), (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('idempotent_answer_pieces_key', ['answer_id', 'position'])
    .execute()
  await db.schema
    .createIndex('idempotent_answer_pieces_expires_at')
    .on('idempotent_answer_pieces')
    .column('expires_at')
    .execute()
}
