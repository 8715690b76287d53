import type { Kysely } from 'kysely'

/** The person for whom a key was made, so that its usage is theirs. */
export async function addKeyCreators(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('api_keys').addColumn('created_by', 'text').execute()
}
