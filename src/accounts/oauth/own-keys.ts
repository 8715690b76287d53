import { generateKeyPair, randomBytes, type webcrypto } from 'node:crypto'
import { promisify } from 'node:util'
import type { Kysely } from 'kysely'
import type { Actor } from '../../core/caller.ts'
import type { Store } from '../../storage/store.ts'
import type { Tables } from '../../storage/tables.ts'
import type { Audit } from '../audit.ts'

type SigningKey = webcrypto.JsonWebKey & { use: 'sig' }

/** The gateway's own keys: those that sign first, then those with which others may have signed. */
type OwnKeys = { signing: readonly SigningKey[]; cookies: readonly string[] }

type Options = {
  store: Pick<Store, 'db'>
  /** Unix time in milliseconds. */
  clock: () => number
}

/** How long keys are trusted before they are read again. */
const recheckMs = 60_000
/** Every process has read a key, whatever its clock, before one signs with it. */
const publishedMs = 5 * recheckMs
/** Longer than anything lives that was signed: cookies of a sign-in under way, for an hour. */
const keptMs = 24 * 3_600_000

/**
 * Gives the keys, which the first that asks makes, the same for all processes of the store; the same
 * object while they stay as they are. What `rotateOwnKeys` changes is known within a minute.
 */
export function createOwnKeys({ store: { db }, clock }: Options): () => Promise<OwnKeys> {
  let known: { names: string; keys: OwnKeys; readAt: number } | undefined
  let reading: Promise<OwnKeys> | undefined
  const read = async (): Promise<OwnKeys> => {
    const now = clock()
    const rows = inOrder(await findOrMake(db, now), now)
    const names = rows.map(({ id }) => id).join()
    const keys = known?.names === names ? known.keys : keysIn(rows)
    known = { names, keys, readAt: now }
    return keys
  }
  return async () => {
    if (known !== undefined && Math.abs(clock() - known.readAt) < recheckMs) return known.keys
    reading ??= read().finally(() => (reading = undefined))
    return reading
  }
}

type Rotation = Options & { audit: Pick<Audit, 'write'>; by: Actor; accountId: string }

/**
 * Makes new keys, which sign in five minutes, when every process knows them. Those before them are good
 * for a day more.
 */
export async function rotateOwnKeys({
  store,
  audit,
  by,
  accountId,
  clock,
}: Rotation): Promise<void> {
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

/** In the order in which they were made. */
async function find(db: Kysely<Tables>): Promise<Row[]> {
  return db
    .selectFrom('gateway_secrets')
    .selectAll()
    .where('id', 'like', `${prefix}%`)
    .orderBy('id')
    .execute()
}

/** Of several that ask at once, one is the first. */
async function findOrMake(db: Kysely<Tables>, now: number): Promise<Row[]> {
  const found = await find(db)
  if (found.length > 0) return found
  const row = { id: idOf(1), secret: await newKeys(), created_at: now }
  await db
    .insertInto('gateway_secrets')
    .values(row)
    .onConflict((one) => one.column('id').doNothing())
    .execute()
  return find(db)
}

/** The newest that is old enough to sign comes first, and others only to be recognised. */
function inOrder(rows: readonly Row[], now: number): Row[] {
  const newestFirst = rows.toReversed()
  const published = newestFirst.find(({ created_at: at }) => at <= now - publishedMs)
  const signing = published ?? newestFirst.at(-1)!
  return [signing, ...newestFirst.filter((row) => row !== signing)]
}

type Stored = { signing: SigningKey; cookie: string }
const cookieKeyBytes = 32

async function newKeys(): Promise<Uint8Array> {
  // RS256 is what every client of the protocol can verify.
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
  const signing: SigningKey = { ...privateKey.export({ format: 'jwk' }), use: 'sig' }
  const stored: Stored = { signing, cookie: randomBytes(cookieKeyBytes).toString('base64url') }
  return new Uint8Array(Buffer.from(JSON.stringify(stored)))
}

function keysIn(rows: readonly Row[]): OwnKeys {
  // Written by `newKeys`.
  const all = rows.map(({ secret }) => JSON.parse(Buffer.from(secret).toString()) as Stored)
  return { signing: all.map(({ signing }) => signing), cookies: all.map(({ cookie }) => cookie) }
}
