import { sql, type Kysely } from 'kysely'

/** Of the keys that a person has for sessions in an account, one of each mode is not revoked. */
export async function addSessionKeys(db: Kysely<unknown>): Promise<void> {
  await sql`
    create unique index api_keys_session on api_keys (created_by, account_id, mode)
    where kind = 'session' and revoked_at is null`.execute(db)
}
