import type { Kysely, Transaction } from 'kysely'
import { timingSafeEqualText } from '../../bytes/timing-safe-equal.ts'
import { plainLine, StoreRefusal } from '../../core/error.ts'
import type { Tables, ApiKeysTable } from '../../storage/tables.ts'
import { digestOf } from '../api-key.ts'
import { inState } from '../key-list.ts'
import { countOf } from '../list-page.ts'
import type { ArtifactPayload } from './artifact-row.ts'

/** Client metadata (RFC 7591), in oidc-provider's names. */
export type ClientMetadata = ArtifactPayload

type RegisteredClientsOptions = {
  db: Kysely<Tables>
  clock: () => number
  limits: { oauthClientsMax: number }
}

/** Clients that registered themselves, and clients of accounts. */
export function createRegisteredClients({ db, clock, limits }: RegisteredClientsOptions) {
  const rowLimit = createRowLimit({
    max: limits.oauthClientsMax,
    clock,
    count: () => countRegistered(db),
  })
  return {
    /** Stores a client that registers itself. Throws a StoreRefusal. */
    register: async (metadata: ClientMetadata): Promise<void> => {
      await rowLimit.take(tooManyClients)
      const row = clientRow(metadata, clock())
      await db.insertInto('oauth_clients').values(row).execute()
    },
    /**
     * The metadata of a client, with digests (`matchesSecret`) in place of its secrets. A client of an
     * account exists while one of its secrets is valid.
     */
    find: async (id: string): Promise<ClientMetadata | undefined> => {
      const row = await db
        .selectFrom('oauth_clients')
        .select(['metadata', 'secret_digest', 'account_id'])
        .where('id', '=', id)
        .executeTakeFirst()
      if (row === undefined) return undefined
      const isMade = row.account_id !== null
      const digests = isMade ? await validDigests(db, id, clock()) : row.secret_digest
      if (isMade && digests === '') return undefined
      // `clientRow` writes this column as client metadata.
      const metadata = JSON.parse(row.metadata) as ClientMetadata
      return digests === null ? metadata : { ...metadata, client_secret: digests }
    },
    remove: async (id: string): Promise<void> => {
      await db.deleteFrom('oauth_clients').where('id', '=', id).execute()
    },
  }
}

/** The number of clients that registered themselves. */
export function countRegistered(db: Kysely<Tables>): Promise<number> {
  return countOf(db.selectFrom('oauth_clients').where('account_id', 'is', null))
}

/** The digests of a client's valid secrets, separated by spaces. */
async function validDigests(db: Kysely<Tables>, clientId: string, now: number): Promise<string> {
  const rows = await inState(db.selectFrom('api_keys').select('digest'), 'active', now)
    .where('client_id', '=', clientId)
    .where('kind', '=', 'client')
    .execute()
  return rows.map(({ digest }) => digest).join(' ')
}

/** Whether a secret has one of the digests that `find` returns; each comparison takes constant time. */
export function matchesSecret(secret: string, digests: string): boolean {
  const given = digestOf(secret)
  return digests.split(' ').some((digest) => timingSafeEqualText(given, digest))
}

type Owner = Pick<Tables['oauth_clients'], 'account_id' | 'key_id' | 'created_by'>
const noOwner: Owner = { account_id: null, key_id: null, created_by: null }

/** The row of a client, with the digest of its secret. */
export function clientRow(
  { client_secret: secret, ...metadata }: ClientMetadata,
  now: number,
  owner: Owner = noOwner,
): Tables['oauth_clients'] {
  const { client_id: id, client_name: name } = metadata
  return {
    id: String(id),
    ...owner,
    name: plainName(typeof name === 'string' ? name : '', String(id)),
    secret_digest: typeof secret === 'string' ? digestOf(secret) : null,
    metadata: JSON.stringify(metadata),
    created_at: now,
    last_used_at: now,
  }
}

/** The id of the key that a client's own tokens act for; null for a client that registered itself. */
export async function keyOfClient(db: Kysely<Tables>, id: string): Promise<string | null> {
  const row = await db
    .selectFrom('oauth_clients')
    .select('key_id')
    .where('id', '=', id)
    .executeTakeFirst()
  return row?.key_id ?? null
}

/** Records a use of a client. Clients that publish their metadata document have no row. */
export async function noteClientUse(db: Kysely<Tables>, id: string, now: number): Promise<void> {
  await db
    .updateTable('oauth_clients')
    .set({ last_used_at: now })
    .where('id', '=', id)
    .where('last_used_at', '<', now)
    .execute()
}

function tooManyClients(): StoreRefusal {
  const text =
    'Too many clients have registered with this gateway. Try again later, or use an API key.'
  return new StoreRefusal('too_many_clients', text)
}

/** The maximum for names of keys too. */
const nameLengthMax = 100

/** A client's self-chosen name on one line, at most 100 characters; `otherwise` for an empty name. */
export function plainName(name: string, otherwise: string): string {
  return plainLine(name, nameLengthMax) || plainLine(otherwise, nameLengthMax) || 'client'
}

/** The metadata of an account's client (RFC 7591). */
const accountClientMetadata = {
  grant_types: ['client_credentials'],
  redirect_uris: [],
  response_types: [],
  token_endpoint_auth_method: 'client_secret_basic',
}

/**
 * Registers the client of a `client` key with the key's secret, or moves the client to a new key. Does
 * nothing for other kinds of keys.
 */
export async function registerClientOf(
  transaction: Transaction<Tables>,
  row: ApiKeysTable,
): Promise<void> {
  if (row.kind !== 'client' || row.client_id === null) return
  const owner = { account_id: row.account_id, key_id: row.id, created_by: row.created_by }
  const metadata = { ...accountClientMetadata, client_id: row.client_id, client_name: row.name }
  const client = { ...clientRow(metadata, row.created_at, owner), secret_digest: row.digest }
  const { key_id, secret_digest } = client
  await transaction
    .insertInto('oauth_clients')
    .values(client)
    .onConflict((one) => one.column('id').doUpdateSet({ key_id, secret_digest }))
    .execute()
}

type RowLimitOptions = {
  max: number
  /** Counts the stored rows. */
  count: () => Promise<number>
  clock: () => number
}

type RowLimit = {
  /** Counts one more row. Throws `refusal` at the maximum. */
  take(refusal: () => Error): Promise<void>
}

/** How long a count is cached; rows that other processes add in this time are not counted. */
const countedForMs = 10_000

/** An approximate maximum of stored rows, since an exact count costs more than an insert. */
export function createRowLimit({ max, count, clock }: RowLimitOptions): RowLimit {
  let counted: { rows: number; at: number } | undefined
  return {
    take: async (refusal) => {
      const now = clock()
      if (counted === undefined || Math.abs(now - counted.at) > countedForMs) {
        counted = { rows: await count(), at: now }
      }
      if (counted.rows >= max) throw refusal()
      counted.rows++
    },
  }
}
