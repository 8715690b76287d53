import type { Kysely } from 'kysely'

/** OAuth clients, their connections (a kind of key), and codes, tokens and grants. */
export async function createOauth(db: Kysely<unknown>): Promise<void> {
  const keys = () => db.schema.alterTable('api_keys')
  await keys()
    .addColumn('kind', 'text', (column) => column.notNull().defaultTo('key'))
    .execute()
  await keys().addColumn('client_id', 'text').execute()
  await keys().addColumn('client_name', 'text').execute()
  await keys().addColumn('bound_to', 'text').execute()
  await db.schema
    .createIndex('api_keys_client')
    .on('api_keys')
    .columns(['client_id', 'account_id'])
    .execute()
  await db.schema.createIndex('api_keys_bound_to').on('api_keys').column('bound_to').execute()
  await createClients(db)
  await createArtifacts(db)
}

async function createClients(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('oauth_clients')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.references('accounts.id'))
    .addColumn('key_id', 'text')
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('secret_digest', 'text')
    .addColumn('metadata', 'text', (column) => column.notNull())
    .addColumn('created_by', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('last_used_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createIndex('oauth_clients_account')
    .on('oauth_clients')
    .columns(['account_id', 'created_at', 'id'])
    .execute()
  await db.schema
    .createIndex('oauth_clients_last_used')
    .on('oauth_clients')
    .column('last_used_at')
    .execute()
}

async function createArtifacts(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('oauth_artifacts')
    .addColumn('digest', 'text', (column) => column.primaryKey())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('client_id', 'text')
    .addColumn('grant_id', 'text')
    .addColumn('uid', 'text')
    .addColumn('payload', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('consumed_at', 'bigint')
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute()
  for (const column of ['client_id', 'grant_id', 'uid', 'expires_at']) {
    await db.schema
      .createIndex(`oauth_artifacts_${column}`)
      .on('oauth_artifacts')
      .column(column)
      .execute()
  }
}
