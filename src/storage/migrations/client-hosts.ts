import type { Kysely } from 'kysely'

/** The host that people were sent back to, by which they know a client better than by its name. */
export async function addClientHosts(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('api_keys').addColumn('client_redirect_host', 'text').execute()
}
