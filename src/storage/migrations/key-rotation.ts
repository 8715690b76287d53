import type { Kysely } from 'kysely'

/** What replaces a key and when it was last used; keys in the order in which lists read them. */
export async function addKeyRotation(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('api_keys').addColumn('replaced_by', 'text').execute()
  await db.schema.alterTable('api_keys').addColumn('last_used_at', 'bigint').execute()
  await db.schema
    .createIndex('api_keys_account_created_at')
    .on('api_keys')
    .columns(['account_id', 'created_at', 'id'])
    .execute()
}
