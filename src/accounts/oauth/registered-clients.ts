import type { Kysely } from 'kysely'
import { timingSafeEqualText } from '../../bytes/timing-safe-equal.ts'
import { StoreRefusal } from '../../core/error.ts'
import type { OauthClientsTable } from '../../storage/oauth-tables.ts'
import type { Tables } from '../../storage/tables.ts'
import { digestOf } from '../api-key.ts'
import { inState } from '../key-list.ts'
import type { ArtifactPayload } from './artifact-row.ts'
import { plainName } from './client-name.ts'
import { createStoredRoom } from './stored-room.ts'

/** What a client says of itself (RFC 7591), as oidc-provider names it. */
export type ClientMetadata = ArtifactPayload

type Options = {
  db: Kysely<Tables>
  clock: () => number
  limits: { oauthClientsMax: number }
}

/** Clients that have registered themselves, and those that accounts have made. */
export function createRegisteredClients({ db, clock, limits }: Options) {
  const room = createStoredRoom({
    max: limits.oauthClientsMax,
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
     * What a client has said of itself, with the digests of its secrets (`matchesSecret`) in place of
     * these. One that an account has made is there while it has a secret that works.
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
