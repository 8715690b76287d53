import { LRUCache } from 'lru-cache'
import type { Caller, Identify, Scope } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import { keyRemedy } from '../core/words/remedies.ts'
import { StoreError } from '../storage/store-error.ts'
import type { Store } from '../storage/store.ts'
import type { AccountsTable, ApiKeysTable } from '../storage/tables.ts'
import { allowanceOf } from './allowance.ts'
import { digestOf, isWellFormedKey } from './api-key.ts'
import {
  accessTokenPrefix,
  connectionOver,
  expiredToken,
  readAccessToken,
  type TokenPurpose,
  type TokenReading,
} from './oauth/access-token.ts'
import { invalidKey, notAKey, readKey } from './read-key.ts'
import { administers } from './role.ts'

type Known = {
  caller: Caller
  expiresAt: number | null
  /** What it is from then on. */
  ended: () => GatewayError
  trustedUntil: number
}
type Options = {
  store: Store
  /** Unix time in milliseconds, by which keys expire. */
  clock: () => number
  /** Never jumps, so that a clock that is set back keeps no revoked key alive. */
  monotonic: () => number
  /** How long a look-up is valid; meanwhile another process may revoke the key. */
  keyCacheMs?: number
  keyCacheEntriesMax?: number
  /** What access tokens have to be for. */
  tokensFor: TokenPurpose
  /** Told of a key that is used, whenever it is looked up. */
  onUse: (keyId: string) => void
}

/** Who calls with a key, and what is remembered of it. */
export type KnownKeys = {
  identify: Identify
  /** Looks up anew, at its next use, who is concerned by a change of the store. */
  forget(isConcerned: (caller: Caller) => boolean): void
}

/** A revoked key must fail within two seconds, also when the announcement is lost. */
const cacheMs = 1000
/** Some kilobytes each; a key that is not cached costs one query. */
const cacheEntriesMax = 10_000

/** Authenticates keys against the store, and caches those it finds. */
export function createIdentify({
  store,
  clock,
  monotonic,
  keyCacheMs = cacheMs,
  keyCacheEntriesMax = cacheEntriesMax,
  tokensFor,
  onUse,
}: Options): KnownKeys {
  const known = new LRUCache<string, Known>({ max: keyCacheEntriesMax })
  const lookingUp = new Map<string, Promise<Known>>()

  // Concurrent calls with the same key share one look-up.
  const lookUpOnce = (key: string, digest: string): Promise<Known> => {
    const running = lookingUp.get(digest)
    if (running !== undefined) return running
    const trustedUntil = monotonic() + keyCacheMs
    const looked = key.startsWith(accessTokenPrefix)
      ? lookUpToken(store, key, { ...tokensFor, now: clock() })
      : lookUp(store, { digest })
    const found = looked
      .then((one) => ({ ...one, trustedUntil }))
      .catch(notLookedUp('key'))
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
    const found = known.get(digest)
    if (found !== undefined && found.trustedUntil >= monotonic()) return unexpired(found, clock())
    if (!isWellFormedKey(key) && !key.startsWith(accessTokenPrefix)) throw notAKey(key)
    const changesBefore = changes
    return lookUpOnce(key, digest).then((row) => {
      // What was read while it changed may be what was before.
      if (keyCacheMs > 0 && changes === changesBefore) known.set(digest, row)
      const caller = unexpired(row, clock())
      onUse(caller.keyId)
      return caller
    })
  }
  const forget: KnownKeys['forget'] = (isConcerned) => {
    changes++
    lookingUp.clear()
    const concerned = [...known].filter(([, { caller }]) => isConcerned(caller))
    for (const [digest] of concerned) known.delete(digest)
  }
  return { identify, forget }
}

type Found = Omit<Known, 'trustedUntil'>

/** The key of a digest, or by its id that of a client. */
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
  const account = await db
    .selectFrom('accounts')
    .selectAll()
    .where('id', '=', row.account_id)
    .executeTakeFirstOrThrow()
  const caller = callerOf(row, account)
  const ended = () => expiry[row.kind]().about(caller)
  return { caller, expiresAt: row.expires_at, ended }
}

/** Who calls with an access token: the caller of the key that it stands for, and no administrator. */
async function lookUpToken(store: Store, token: string, reading: TokenReading): Promise<Found> {
  const { keyId, expiresAt, mayInfer } = await readAccessToken(store.db, token, reading)
  const found = await lookUp(store, { id: keyId })
  const scopes = mayInfer ? found.caller.scopes.filter((scope) => scope === 'inference') : []
  const caller = { ...found.caller, scopes, isOperator: false }
  return found.expiresAt !== null && found.expiresAt <= expiresAt
    ? { ...found, caller }
    : { caller, expiresAt, ended: expiredToken }
}

function callerOf(key: ApiKeysTable, account: AccountsTable): Caller {
  const { allowed_models: models, allowed_addresses: networks, created_by: makerId } = key
  // Written by `createKeys`.
  const scopes = JSON.parse(key.scopes) as Scope[]
  return {
    accountId: account.id,
    keyId: key.id,
    mode: key.mode,
    // The lists are written by `createKeys`.
    models: models === null ? null : (JSON.parse(models) as string[]),
    networks: networks === null ? null : (JSON.parse(networks) as string[]),
    scopes,
    allowances: [allowanceOf(account), allowanceOf(key)],
    isOperator: account.is_operator === 1,
    ...(key.bound_to === null ? {} : { boundTo: key.bound_to }),
    ...(makerId !== null && administers(scopes) ? { makerId } : {}),
  }
}

/** Says that a store does not answer; other errors stay as they are. */
export function notLookedUp(what: 'key' | 'session'): (cause: unknown) => never {
  return (cause) => {
    if (!(cause instanceof StoreError) || cause.concernsStatement) throw cause
    const text = `The ${what} cannot be looked up at the moment. Try again in a moment.`
    throw new GatewayError('overloaded', text, { cause, retryAfterSeconds: 1 })
  }
}

function unexpired({ caller, expiresAt, ended }: Known, now: number): Caller {
  if (expiresAt === null || expiresAt > now) return caller
  throw ended()
}

/** Why a key is none any more at a Unix time in milliseconds; undefined while it is one. */
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

/** What each kind is told when its time is over. */
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
    'This key has ended with its hour or its session. POST /api/sessions/current/key gives the session another.'
  return new GatewayError('expired_api_key', text)
}
