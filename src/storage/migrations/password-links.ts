import type { Kysely } from 'kysely'

/** The one-time links that set a new password. */
export async function createPasswordLinks(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('password_links')
    .addColumn('digest', 'text', (column) => column.primaryKey())
    .addColumn('person_id', 'text', (column) => column.notNull().references('people.id'))
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('used_at', 'bigint')
    .execute()
  await db.schema
    .createIndex('password_links_person')
    .on('password_links')
    .column('person_id')
    .execute()
}
