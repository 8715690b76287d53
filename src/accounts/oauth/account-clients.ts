import type { Transaction } from 'kysely'
import type { ApiKeysTable, Tables } from '../../storage/tables.ts'
import { clientRow } from './registered-clients.ts'

/** What a client of an account has said of itself, in the terms of RFC 7591. */
const metadata = {
  grant_types: ['client_credentials'],
  redirect_uris: [],
  response_types: [],
  token_endpoint_auth_method: 'client_secret_basic',
}

/**
 * Lets the client of a key sign in, with the secret whose digest the key has: what it gets tokens for
 * is this key from now on. Does nothing for other keys.
 */
export async function letSignIn(
  transaction: Transaction<Tables>,
  row: ApiKeysTable,
): Promise<void> {
  if (row.kind !== 'client' || row.client_id === null) return
  const owner = { account_id: row.account_id, key_id: row.id, created_by: row.created_by }
  const said = { ...metadata, client_id: row.client_id, client_name: row.name }
  const client = { ...clientRow(said, row.created_at, owner), secret_digest: row.digest }
  const { key_id, secret_digest } = client
  await transaction
    .insertInto('oauth_clients')
    .values(client)
    .onConflict((one) => one.column('id').doUpdateSet({ key_id, secret_digest }))
    .execute()
}
