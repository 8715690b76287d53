import type { Kysely } from 'kysely'
import { LRUCache } from 'lru-cache'
import type { Caller, Identify } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import { keyRemedy } from '../core/words/remedies.ts'
import { StoreError } from '../storage/store-error.ts'
import type { Store } from '../storage/store.ts'
import type { AccountsTable, ApiKeysTable, Tables } from '../storage/tables.ts'
import { allowanceOf, isLimited, tagRows } from './allowance.ts'
import { listIn, scopesIn } from './key-form.ts'
import { digestOf, isWellFormedKey, invalidKey, notAKey, readKey } from './api-key.ts'
import {
  accessTokenPrefix,
  connectionOver,
  expiredToken,
  readAccessToken,
  type TokenPurpose,
  type TokenReading,
} from './oauth/access-token.ts'
import { memberAllowance } from './member-limits.ts'
import { administers } from './role.ts'

type Cached = {
  caller: Caller
  expiresAt: number | null
  /** The error for a key after `expiresAt`. */
  ended: () => GatewayError
  trustedUntil: number
}
type Options = {
  store: Store
  /** Unix time in milliseconds, by which keys expire. */
  clock: () => number
  /** A monotonic clock, by which cached keys expire even if the system clock is set back. */
  monotonic: () => number
  /** How long a look-up stays cached, although another process may revoke the key meanwhile. */
  keyCacheMs: number
  keyCacheEntriesMax: number
  /** The audience and scope that access tokens must have. */
  tokensFor: TokenPurpose
  /** Called when the key of a call is looked up in the store, not when the key is in the cache. */
  onUse: (keyId: string) => void
}

export type KeyCache = ReturnType<typeof createIdentify>

/** Authenticates keys against the store, and caches the keys that it finds. */
export function createIdentify({
  store,
  clock,
  monotonic,
  keyCacheMs,
  keyCacheEntriesMax,
  tokensFor,
  onUse,
}: Options) {
  const cache = new LRUCache<string, Cached>({ max: keyCacheEntriesMax })
  const lookingUp = new Map<string, Promise<Cached>>()

  // Concurrent calls with the same key share one look-up.
  const lookUpOnce = (key: string, digest: string): Promise<Cached> => {
    const running = lookingUp.get(digest)
    if (running !== undefined) return running
    const trustedUntil = monotonic() + keyCacheMs
    const looked = key.startsWith(accessTokenPrefix)
      ? lookUpToken(store, key, { ...tokensFor, now: clock() })
      : lookUp(store, { digest })
    const found = looked
      .then((one) => ({ ...one, trustedUntil }))
      .catch(overloadedWhenStoreFails('key'))
      .finally(() => {
        if (lookingUp.get(digest) === found) lookingUp.delete(digest)
      })
    lookingUp.set(digest, found)
    return found
  }
  let changes = 0

  const identify: Identify = (credentials) => {
    const key = readKey(credentials)
    const digest = digestOf(key)
    const found = cache.get(digest)
    if (found !== undefined && found.trustedUntil >= monotonic()) return unexpired(found, clock())
    if (!isWellFormedKey(key) && !key.startsWith(accessTokenPrefix)) throw notAKey(key)
    const changesBefore = changes
    return lookUpOnce(key, digest).then((row) => {
      // A row that was read during a change may be outdated, so it is not cached.
      if (keyCacheMs > 0 && changes === changesBefore) cache.set(digest, row)
      const caller = unexpired(row, clock())
      onUse(caller.keyId)
      return caller
    })
  }
  /** Removes callers from the cache; the store is read at their next use. */
  const forget = (isAffected: (caller: Caller) => boolean): void => {
    changes++
    lookingUp.clear()
    const affected = [...cache].filter(([, { caller }]) => isAffected(caller))
    for (const [digest] of affected) cache.delete(digest)
  }
  return { identify, forget }
}

type Found = Omit<Cached, 'trustedUntil'>

/** The caller of a call that began with a key, which may have expired since. Throws a GatewayError. */
export async function callerOfKey(store: Store, id: string): Promise<Caller> {
  return (await lookUp(store, { id })).caller
}

/** Finds a key by its digest, or the key of a client by its id. */
async function lookUp({ db }: Store, which: { digest: string } | { id: string }): Promise<Found> {
  const row = await db
    .selectFrom('api_keys')
    .selectAll()
    .where(({ and }) => and(which))
    .executeTakeFirst()
  if (row === undefined) throw invalidKey('There is no such API key.')
  if (row.revoked_at !== null) {
    throw revoked(row.kind).about({ accountId: row.account_id, keyId: row.id })
  }
  const [account, member] = await Promise.all([
    db
      .selectFrom('accounts')
      .selectAll()
      .where('id', '=', row.account_id)
      .executeTakeFirstOrThrow(),
    row.created_by === null ? undefined : findMember(db, row.account_id, row.created_by),
  ])
  const caller = callerOf(row, account, member)
  const ended = () => expiry[row.kind]().about(caller)
  return { caller, expiresAt: row.expires_at, ended }
}

/** The caller of an access token: the caller of the token's key, without administrative scopes. */
async function lookUpToken(store: Store, token: string, reading: TokenReading): Promise<Found> {
  const { keyId, expiresAt, mayInfer } = await readAccessToken(store.db, token, reading)
  const found = await lookUp(store, { id: keyId })
  const scopes = mayInfer ? found.caller.scopes.filter((scope) => scope === 'inference') : []
  const caller = { ...found.caller, scopes, isOperator: false, hasToken: true as const }
  return found.expiresAt !== null && found.expiresAt <= expiresAt
    ? { ...found, caller }
    : { caller, expiresAt, ended: expiredToken }
}

/** The limits of a person in an account; undefined for a person who has left it. */
function findMember(db: Kysely<Tables>, accountId: string, personId: string) {
  return db
    .selectFrom('members')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('person_id', '=', personId)
    .executeTakeFirst()
}

type Member = Awaited<ReturnType<typeof findMember>>

function callerOf(key: ApiKeysTable, account: AccountsTable, member: Member): Caller {
  const { allowed_models: models, allowed_addresses: networks, created_by: creatorId } = key
  const scopes = scopesIn(key)
  const tagBudgets = new Map(tagRows(key).map((one) => [one.tag, allowanceOf(one)]))
  const isSandboxOnly = member?.sandbox_only === 1 && key.mode === 'live'
  return {
    accountId: account.id,
    keyId: key.id,
    mode: key.mode,
    ...(key.cassette === null ? {} : { cassette: key.cassette }),
    ...(key.played === null ? {} : { played: key.played }),
    models: isSandboxOnly ? [] : listIn(models),
    ...(isSandboxOnly ? { isSandboxOnly } : {}),
    networks: listIn(networks),
    scopes,
    allowances: [
      allowanceOf(account),
      allowanceOf(key),
      ...(member !== undefined && isLimited(member) ? [memberAllowance(member)] : []),
    ],
    ...(tagBudgets.size === 0 ? {} : { tagBudgets }),
    isOperator: account.is_operator === 1,
    ...(account.keeps_prompts === 1 ? { keepsPrompts: true as const } : {}),
    ...(key.bound_to === null ? {} : { boundTo: key.bound_to }),
    ...(creatorId !== null && administers(scopes) ? { creatorId } : {}),
  }
}

/** A rejection handler that turns a failed store into `overloaded` and rethrows other errors. */
export function overloadedWhenStoreFails(what: 'key' | 'session'): (cause: unknown) => never {
  return (cause) => {
    if (!(cause instanceof StoreError) || cause.concernsStatement) throw cause
    const text = `The ${what} cannot be looked up at the moment. Try again in a moment.`
    throw new GatewayError('overloaded', text, { cause, retryAfterSeconds: 1 })
  }
}

function unexpired({ caller, expiresAt, ended }: Cached, now: number): Caller {
  if (expiresAt === null || expiresAt > now) return caller
  throw ended()
}

/** The error for a key that is revoked or expired at a Unix time in milliseconds; undefined for a valid one. */
export function endOfKey(
  row: Pick<ApiKeysTable, 'kind' | 'expires_at' | 'revoked_at'> | undefined,
  nowMs: number,
): GatewayError | undefined {
  if (row === undefined || row.revoked_at !== null) return revoked(row?.kind)
  if (row.expires_at === null || row.expires_at > nowMs) return undefined
  return expiry[row.kind]()
}

function revoked(kind: ApiKeysTable['kind'] = 'key'): GatewayError {
  if (kind === 'key' || kind === 'session') return invalidKey('This API key was revoked.')
  return connectionOver()
}

const expiry: Record<ApiKeysTable['kind'], () => GatewayError> = {
  key: expired,
  session: sessionKeyOver,
  connection: connectionOver,
  client: connectionOver,
}

function expired(): GatewayError {
  return new GatewayError('expired_api_key', `This API key has expired. ${keyRemedy}`)
}

function sessionKeyOver(): GatewayError {
  const text =
    'This session key has expired: it lasts an hour, or until its session ends. POST /api/sessions/current/key returns a new one.'
  return new GatewayError('expired_api_key', text)
}
