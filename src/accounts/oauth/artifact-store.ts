import { sql, type Kysely } from 'kysely'
import { StoreRefusal } from '../../core/error.ts'
import type { OauthArtifactsTable, Tables } from '../../storage/tables.ts'
import type { ChangeParts } from '../audit.ts'
import { endOfKey } from '../identify.ts'
import {
  accessKinds,
  artifactDigest,
  artifactPayload,
  artifactRow,
  ofConnections,
  type ArtifactKind,
  type ArtifactPayload,
} from './artifact-row.ts'
import { countOf } from '../list-page.ts'
import { endConnection } from './connection-changes.ts'
import {
  createRegisteredClients,
  createRowLimit,
  keyOfClient,
  noteClientUse,
} from './registered-clients.ts'

export type ArtifactLimits = {
  oauthClientsMax: number
  oauthSignInsMax: number
  oauthTokensPerConnectionMax: number
  oauthRefreshGraceSeconds: number
}

type Options = ChangeParts & {
  limits: ArtifactLimits
}

/**
 * The time after which an unfinished exchange of a code counts as finished. Until then, or until
 * `finishExchange`, `find` does not return the code as consumed: `consume` refuses a concurrent second
 * exchange without revoking the connection.
 */
const exchangeMs = 10_000
/** The `consumed_at` of an exchanged code; in the past by the clock of any process. */
const longAgo = 0

/**
 * The functions of oidc-provider's adapter. Ids are stored only as digests. `find` returns a `Client`
 * with the digest (`digestOf`) of its secret as `client_secret`.
 */
export type ArtifactStore = ReturnType<typeof createArtifactStore>

/** The store of oidc-provider's artifacts: of concurrent uses of one artifact the first succeeds. */
export function createArtifactStore(options: Options) {
  const { store, audit, announce, clock, limits } = options
  const { db } = store
  const clients = createRegisteredClients({ db, clock, limits })
  const signIns = createRowLimit({
    max: limits.oauthSignInsMax,
    clock,
    count: () => countOf(db.selectFrom('oauth_artifacts').where('grant_id', 'is', null)),
  })
  const graceMsOf = (kind: string) =>
    kind === 'RefreshToken' ? limits.oauthRefreshGraceSeconds * 1000 : undefined
  const toPayload = (row: OauthArtifactsTable, id?: string) => {
    const graceMs = row.kind === 'AuthorizationCode' ? exchangeMs : (graceMsOf(row.kind) ?? 0)
    const isUsed = (at: number) => at <= clock() - graceMs
    return artifactPayload(row, { ...(id === undefined ? {} : { id }), isUsed })
  }
  return {
    /** Inserts or replaces an artifact by its id. Throws a StoreRefusal above the maximum. */
    upsert: async (
      kind: ArtifactKind,
      id: string,
      payload: ArtifactPayload,
      expiresInSeconds: number = 0,
    ) => {
      if (kind === 'Client') return clients.register(payload)
      const now = clock()
      const row = artifactRow(kind, id, { payload, now, expiresAt: now + expiresInSeconds * 1000 })
      if (ofConnections.has(kind)) return insertForConnection(db, row, { now, limits })
      await signIns.take(tooManySignIns)
      if (!(await insert(db, row))) throw alreadyUsed()
    },
    /** Finds an unexpired artifact; it is `consumed` once it was used and its grace period has passed. */
    find: async (kind: ArtifactKind, id: string) => {
      if (kind === 'Client') return clients.find(id)
      const row = await findRow(db, clock(), { digest: artifactDigest(kind, id) })
      if (row === undefined) return undefined
      if (kind === 'Grant' && (await hasEnded(db, id, clock()))) return undefined
      return toPayload(row, id)
    },
    findByUid: async (kind: 'Session', uid: string) => {
      const row = await findRow(db, clock(), { kind, uid })
      return row && toPayload(row)
    },
    /** Uses a code or token. Throws a StoreRefusal `already_used`, for refresh tokens after a grace period. */
    consume: async (kind: ArtifactKind, id: string) => {
      const digest = artifactDigest(kind, id)
      if (!(await use(db, digest, { now: clock(), graceMs: graceMsOf(kind) }))) throw alreadyUsed()
    },
    /** Records that the tokens of a code were issued: from now on `find` returns the code as consumed. */
    finishExchange: (code: string) => finishExchange(db, code),
    destroy: async (kind: ArtifactKind, id: string) => {
      if (kind === 'Client') return clients.remove(id)
      const row = await remove(db, artifactDigest(kind, id))
      const keyId = row && isAccess(kind) ? row.grant_id : null
      if (keyId !== null) announce({ kind: 'keys_changed', keyIds: [keyId] })
    },
    isConnected: (clientId: string, redirectHost: string) =>
      isConnected(db, clientId, redirectHost),
    /** Ends a connection and its tokens; every process refuses them within two seconds. */
    revokeByGrantId: async (keyId: string) => {
      // The actor in the audit log is the client's own connection.
      await endConnection({ db, audit, clock }, keyId, { id: keyId, address: null })
      announce({ kind: 'keys_changed', keyIds: [keyId] })
    },
  }
}

function isAccess(kind: string): boolean {
  return accessKinds.some((access) => access === kind)
}

function findRow(
  db: Kysely<Tables>,
  now: number,
  which: Partial<Pick<OauthArtifactsTable, 'digest' | 'kind' | 'uid'>>,
): Promise<OauthArtifactsTable | undefined> {
  return db
    .selectFrom('oauth_artifacts')
    .selectAll()
    .where(({ and }) => and(which))
    .where('expires_at', '>', now)
    .executeTakeFirst()
}

/** Stores a token, code or grant while its connection exists. Throws a StoreRefusal. */
async function insertForConnection(
  db: Kysely<Tables>,
  row: OauthArtifactsTable,
  { now, limits }: { now: number; limits: ArtifactLimits },
): Promise<void> {
  const isOwn = row.kind === 'ClientCredentials' && row.client_id !== null
  const keyId = isOwn ? await keyOfClient(db, row.client_id!) : row.grant_id
  if (keyId === null || (await hasEnded(db, keyId, now))) throw connectionEnded()
  const held = await countOf(db.selectFrom('oauth_artifacts').where('grant_id', '=', keyId))
  if (held >= limits.oauthTokensPerConnectionMax) throw tooManyTokens()
  await insert(db, { ...row, grant_id: keyId })
  if (isAccess(row.kind) && row.client_id !== null) await noteClientUse(db, row.client_id, now)
}

/** Kinds whose rows are never replaced by a second insert with the same id. */
const keptOnce: ReadonlySet<string> = new Set(['RefreshToken', 'ReplayDetection'])

/** Inserts a row, or updates the row with the same id; returns whether a row was written. */
async function insert(db: Kysely<Tables>, row: OauthArtifactsTable): Promise<boolean> {
  const { client_id, grant_id, uid, payload, expires_at } = row
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('oauth_artifacts')
    .values(row)
    .onConflict((one) =>
      keptOnce.has(row.kind)
        ? one.column('digest').doNothing()
        : one.column('digest').doUpdateSet({ client_id, grant_id, uid, payload, expires_at }),
    )
    .executeTakeFirst()
  return numInsertedOrUpdatedRows !== 0n
}

/** Marks an artifact as used; returns false if it was already used, unless the grace period still runs. */
async function use(
  db: Kysely<Tables>,
  digest: string,
  { now, graceMs }: { now: number; graceMs: number | undefined },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('oauth_artifacts')
    .set({ consumed_at: sql<number>`coalesce(consumed_at, ${now})` })
    .where('digest', '=', digest)
    .where(({ eb, or }) => {
      const unused = eb('consumed_at', 'is', null)
      return graceMs === undefined ? unused : or([unused, eb('consumed_at', '>', now - graceMs)])
    })
    .executeTakeFirst()
  return numUpdatedRows !== 0n
}

async function finishExchange(db: Kysely<Tables>, code: string): Promise<void> {
  await db
    .updateTable('oauth_artifacts')
    .set({ consumed_at: longAgo })
    .where('digest', '=', artifactDigest('AuthorizationCode', code))
    .execute()
}

function remove(db: Kysely<Tables>, digest: string) {
  return db
    .deleteFrom('oauth_artifacts')
    .where('digest', '=', digest)
    .returning('grant_id')
    .executeTakeFirst()
}

async function hasEnded(db: Kysely<Tables>, keyId: string, now: number): Promise<boolean> {
  const row = await db
    .selectFrom('api_keys')
    .select(['kind', 'revoked_at', 'expires_at'])
    .where('id', '=', keyId)
    .where('kind', '!=', 'key')
    .executeTakeFirst()
  return endOfKey(row, now) !== undefined
}

async function isConnected(
  db: Kysely<Tables>,
  clientId: string,
  redirectHost: string,
): Promise<boolean> {
  const connection = await db
    .selectFrom('api_keys')
    .select('id')
    .where('client_id', '=', clientId)
    .where('client_redirect_host', '=', redirectHost)
    .where('kind', '=', 'connection')
    .where('revoked_at', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return connection !== undefined
}

function alreadyUsed(): StoreRefusal {
  return new StoreRefusal('already_used', 'It has already been used. Request a new one.')
}

function connectionEnded(): StoreRefusal {
  const text = 'The connection has ended. Connect the client again.'
  return new StoreRefusal('connection_ended', text)
}

function tooManySignIns(): StoreRefusal {
  const text = 'Too many sign-ins are in progress. Try again in a few minutes.'
  return new StoreRefusal('too_many_artifacts', text)
}

function tooManyTokens(): StoreRefusal {
  const text = 'The client holds too many tokens. It should use each token until the token expires.'
  return new StoreRefusal('too_many_artifacts', text)
}
