import { hkdfSync, randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Tables } from './tables.ts'

/** What the processes of one store know, and nobody else does. */
export type GatewaySecret = {
  /** A key for one purpose alone, which tells nothing of those for others (RFC 5869). */
  keyFor(purpose: string, bytes: number): Buffer
}

const id = 'gateway'
const secretBytes = 32

/** The secret of a store, which its first start makes; rejects with a StoreError. */
export async function readGatewaySecret(db: Kysely<Tables>): Promise<GatewaySecret> {
  const secret = (await find(db)) ?? (await make(db))
  return {
    keyFor: (purpose, bytes) => Buffer.from(hkdfSync('sha256', secret, '', purpose, bytes)),
  }
}

async function find(db: Kysely<Tables>): Promise<Uint8Array | undefined> {
  const query = db.selectFrom('gateway_secrets').select('secret').where('id', '=', id)
  return (await query.executeTakeFirst())?.secret
}

/** Of several that start at once, one is the first. */
async function make(db: Kysely<Tables>): Promise<Uint8Array> {
  await db
    .insertInto('gateway_secrets')
    .values({ id, secret: new Uint8Array(randomBytes(secretBytes)), created_at: Date.now() })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
  return (await find(db))!
}
