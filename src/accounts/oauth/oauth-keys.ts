import { generateKeyPair, randomBytes, type webcrypto } from 'node:crypto'
import { promisify } from 'node:util'
import type { Kysely } from 'kysely'
import type { Actor } from '../../core/caller.ts'
import { insertNew } from '../../storage/insert-new.ts'
import type { Store } from '../../storage/store.ts'
import type { Tables } from '../../storage/tables.ts'
import type { Audit } from '../audit.ts'

type SigningKey = webcrypto.JsonWebKey & { use: 'sig' }

/** The gateway's keys: first the signing key, then older keys whose signatures are still accepted. */
type OAuthKeys = { signing: readonly SigningKey[]; cookies: readonly string[] }

type Options = {
  store: Pick<Store, 'db'>
  clock: () => number
}

/** How long keys are cached. */
const recheckMs = 60_000
/** The age at which a key begins to sign: by then every process has read it. */
const publishedMs = 5 * recheckMs
/** How long an older key is kept: longer than anything signed is valid (a sign-in cookie, 1 h). */
const keptMs = 24 * 3_600_000

/**
 * Returns a function that reads the keys, and creates them on the first call. All processes of a store
 * share them. The result is the same object until the keys change; a rotation applies within a minute.
 */
export function createOAuthKeys({ store: { db }, clock }: Options): () => Promise<OAuthKeys> {
  let cached: { names: string; keys: OAuthKeys; readAt: number } | undefined
  let reading: Promise<OAuthKeys> | undefined
  const read = async (): Promise<OAuthKeys> => {
    const now = clock()
    const rows = inOrder(await findOrMake(db, now), now)
    const names = rows.map(({ id }) => id).join()
    const keys = cached?.names === names ? cached.keys : keysIn(rows)
    cached = { names, keys, readAt: now }
    return keys
  }
  return async () => {
    if (cached !== undefined && Math.abs(clock() - cached.readAt) < recheckMs) return cached.keys
    reading ??= read().finally(() => (reading = undefined))
    return reading
  }
}

/**
 * Creates keys that sign in five minutes, when every process has read them; old keys last a day.
 */
export async function rotateOAuthKeys({
  store,
  audit,
  by,
  accountId,
  clock,
}: Options & { audit: Pick<Audit, 'write'>; by: Actor; accountId: string }): Promise<void> {
  const now = clock()
  const secret = await newKeys()
  await store.db.transaction().execute(async (transaction) => {
    const rows = await find(transaction)
    const outdated = rows.filter((_, index) => (rows[index + 1]?.created_at ?? now) < now - keptMs)
    for (const { id } of outdated)
      await transaction.deleteFrom('gateway_secrets').where('id', '=', id).execute()
    const id = idOf(rows.length === 0 ? 1 : numberIn(rows.at(-1)!.id) + 1)
    await transaction
      .insertInto('gateway_secrets')
      .values({ id, secret, created_at: now })
      .execute()
    await audit.write(transaction, by, {
      account_id: accountId,
      action: 'oauth_keys.rotate',
      target: id,
    })
  })
}

type Row = Tables['gateway_secrets']
const prefix = 'oauth_keys_'
const idOf = (count: number): string => prefix + String(count).padStart(6, '0')
const numberIn = (id: string): number => Number(id.slice(prefix.length))

/** The keys in the order of their creation. */
async function find(db: Kysely<Tables>): Promise<Row[]> {
  return db
    .selectFrom('gateway_secrets')
    .selectAll()
    .where('id', 'like', `${prefix}%`)
    .orderBy('id')
    .execute()
}

/** Finds the keys or creates them; of concurrent calls one creates them. */
async function findOrMake(db: Kysely<Tables>, now: number): Promise<Row[]> {
  const found = await find(db)
  if (found.length > 0) return found
  const row = { id: idOf(1), secret: await newKeys(), created_at: now }
  await insertNew(db, 'gateway_secrets', row)
  return find(db)
}

/** Sorts the newest key that is at least `publishedMs` old to the front. */
function inOrder(rows: readonly Row[], now: number): Row[] {
  const newestFirst = rows.toReversed()
  const published = newestFirst.find(({ created_at: at }) => at <= now - publishedMs)
  const signing = published ?? newestFirst.at(-1)!
  return [signing, ...newestFirst.filter((row) => row !== signing)]
}

type Stored = { signing: SigningKey; cookie: string }
const cookieKeyBytes = 32

async function newKeys(): Promise<Uint8Array> {
  // Every OpenID Connect client can verify RS256.
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
  const signing: SigningKey = { ...privateKey.export({ format: 'jwk' }), use: 'sig' }
  const stored: Stored = { signing, cookie: randomBytes(cookieKeyBytes).toString('base64url') }
  return new Uint8Array(Buffer.from(JSON.stringify(stored)))
}

function keysIn(rows: readonly Row[]): OAuthKeys {
  // `newKeys` writes this column in this form.
  const all = rows.map(({ secret }) => JSON.parse(Buffer.from(secret).toString()) as Stored)
  return { signing: all.map(({ signing }) => signing), cookies: all.map(({ cookie }) => cookie) }
}
