import type { Kysely, Transaction } from 'kysely'
import { timingSafeEqualText } from '../../bytes/timing-safe-equal.ts'
import { StoreRefusal } from '../../core/error.ts'
import { plainLine } from '../../core/words/shorten.ts'
import type { OauthClientsTable } from '../../storage/oauth-tables.ts'
import type { ApiKeysTable, Tables } from '../../storage/tables.ts'
import { digestOf } from '../api-key.ts'
import { inState } from '../key-list.ts'
import type { ArtifactPayload } from './artifact-row.ts'

/** Client metadata (RFC 7591), in oidc-provider's names. */
export type ClientMetadata = ArtifactPayload

type Options = {
  db: Kysely<Tables>
  clock: () => number
  limits: { oauthClientsMax?: number }
}

/** Strangers can register clients, at about a kilobyte each; unused ones are removed after a day. */
const clientsMax = 100_000

/** Clients that registered themselves, and clients of accounts. */
export function createRegisteredClients({ db, clock, limits }: Options) {
  const room = createStoredRoom({
    max: limits.oauthClientsMax ?? clientsMax,
    clock,
    count: async () => {
      const { count } = await db
        .selectFrom('oauth_clients')
        .select((one) => one.fn.countAll<number>().as('count'))
        .where('account_id', 'is', null)
        .executeTakeFirstOrThrow()
      return count
    },
  })
  return {
    /** Keeps one that registers itself. Throws a StoreRefusal. */
    register: async (metadata: ClientMetadata): Promise<void> => {
      await room.take(tooManyClients)
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
      const digests = isMade ? await workingDigests(db, id, clock()) : row.secret_digest
      if (isMade && digests === '') return undefined
      // Written by `clientRow`.
      const said = JSON.parse(row.metadata) as ClientMetadata
      return digests === null ? said : { ...said, client_secret: digests }
    },
    remove: async (id: string): Promise<void> => {
      await db.deleteFrom('oauth_clients').where('id', '=', id).execute()
    },
  }
}

/** The digests of the secrets with which a client of an account may sign in now, with spaces between. */
async function workingDigests(db: Kysely<Tables>, clientId: string, now: number): Promise<string> {
  const rows = await inState(db.selectFrom('api_keys').select('digest'), 'active', now)
    .where('client_id', '=', clientId)
    .where('kind', '=', 'client')
    .execute()
  return rows.map(({ digest }) => digest).join(' ')
}

/** Whether a secret is one of those whose digests `find` gives; takes as long for each that is not. */
export function matchesSecret(secret: string, digests: string): boolean {
  const given = digestOf(secret)
  return digests.split(' ').some((known) => timingSafeEqualText(given, known))
}

/** Whose a client is that an account has made. */
type Owner = Pick<OauthClientsTable, 'account_id' | 'key_id' | 'created_by'>
const nobody: Owner = { account_id: null, key_id: null, created_by: null }

/** The row of a client; of its secret it holds the digest. */
export function clientRow(
  { client_secret: secret, ...metadata }: ClientMetadata,
  now: number,
  owner: Owner = nobody,
): OauthClientsTable {
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

/** The key that a client's own tokens are for; null for one that no account has made. */
export async function keyOfClient(db: Kysely<Tables>, id: string): Promise<string | null> {
  const row = await db
    .selectFrom('oauth_clients')
    .select('key_id')
    .where('id', '=', id)
    .executeTakeFirst()
  return row?.key_id ?? null
}

/** Notes that a client is used; one that publishes its own document is not stored. */
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

/** As the names of keys are. */
const nameLengthMax = 100

/** A client's name for itself on one line, at most 100 characters; `otherwise` where it has none. */
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
 * Lets the client of a key sign in, with the secret whose digest the key has: what it gets tokens for
 * is this key from now on. Does nothing for other keys.
 */
export async function letSignIn(
  transaction: Transaction<Tables>,
  row: ApiKeysTable,
): Promise<void> {
  if (row.kind !== 'client' || row.client_id === null) return
  const owner = { account_id: row.account_id, key_id: row.id, created_by: row.created_by }
  const said = { ...accountClientMetadata, client_id: row.client_id, client_name: row.name }
  const client = { ...clientRow(said, row.created_at, owner), secret_digest: row.digest }
  const { key_id, secret_digest } = client
  await transaction
    .insertInto('oauth_clients')
    .values(client)
    .onConflict((one) => one.column('id').doUpdateSet({ key_id, secret_digest }))
    .execute()
}

type RoomOptions = {
  max: number
  /** Counts what is stored. */
  count: () => Promise<number>
  /** Unix time in milliseconds. */
  clock: () => number
}

type StoredRoom = {
  /** Counts one more. Throws `refusal` where there are as many as there may be. */
  take(refusal: () => Error): Promise<void>
}

/** How long a count is good for; meanwhile what other processes add is not known. */
const countedForMs = 10_000

/** How many rows there may be, near enough: to count them costs more than to add one. */
export function createStoredRoom({ max, count, clock }: RoomOptions): StoredRoom {
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
