import { hkdfSync, randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import { insertNew } from './insert-new.ts'
import type { Tables } from './tables.ts'

/** A secret shared by all processes of one store. */
export type GatewaySecret = {
  /** Derives a key for one purpose with HKDF (RFC 5869); keys of different purposes are independent. */
  keyFor(purpose: string, bytes: number): Buffer
}

const id = 'gateway'
const secretBytes = 32

/** Reads the secret of a store, and creates it on the first start. Rejects with a StoreError. */
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

/** If several processes start at once, all use the secret that was inserted first. */
async function make(db: Kysely<Tables>): Promise<Uint8Array> {
  const secret = new Uint8Array(randomBytes(secretBytes))
  await insertNew(db, 'gateway_secrets', { id, secret, created_at: Date.now() })
  return (await find(db))!
}
