import type { Transaction } from 'kysely'
import type { Administrator, Scope } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import { isWithin } from '../core/networks.ts'
import type { ApiKeysTable, Tables } from '../storage/tables.ts'
import { allowanceOf, countedAs } from './allowance.ts'
import { endOfKey } from './identify.ts'
import { listIn } from './key-form.ts'
import { roleIn } from './memberships.ts'
import { scopesLeft } from './role.ts'

/** Who makes and changes keys, and what they may do. */
export type Giver = Pick<Administrator, 'id' | 'address' | 'scopes'>

/** What a giver hands out at most: their own. */
export type Bounds = {
  scopes: readonly Scope[]
  /** The key that they use; undefined for a person. */
  own: ApiKeysTable | undefined
}

/** A setting by its name in the contract. */
type Setting =
  'mode' | 'scopes' | 'models' | 'allowed_addresses' | 'expires_at' | 'limits' | 'budget'

/**
 * What a giver may hand out; undefined where they administer the account. Read in the transaction
 * of the act, so that a key which was ended or narrowed meanwhile does nothing any more.
 */
export async function boundsOf(
  transaction: Transaction<Tables>,
  { id, scopes }: Giver,
  nowMs: number,
): Promise<Bounds | undefined> {
  if (!id.startsWith('key_'))
    return scopes.includes('admin') ? undefined : { scopes, own: undefined }
  const own = await transaction
    .selectFrom('api_keys')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst()
  const ended = endOfKey(own, nowMs)
  if (ended !== undefined || own === undefined) throw ended
  const now = scopesLeft(
    scopesOf(own),
    own.created_by === null ? 'owner' : await roleIn(transaction, own.created_by, own.account_id),
  )
  if (now.includes('admin')) return undefined
  if (!now.includes('keys:write')) {
    throw new GatewayError('insufficient_scope', "The API key has lost the scope 'keys:write'.")
  }
  return { scopes: now, own }
}

/** The person who makes a key; with a key, the one who made that. Null for none. */
export async function personBehind(
  transaction: Transaction<Tables>,
  { id }: Pick<Giver, 'id'>,
): Promise<string | null> {
  if (id.startsWith('usr_')) return id
  const own = await transaction
    .selectFrom('api_keys')
    .select('created_by')
    .where('id', '=', id)
    .executeTakeFirst()
  return own?.created_by ?? null
}

/** What a key that such a giver makes has where nothing is said: their own restrictions. */
export function inherited(bounds: Bounds | undefined): Partial<ApiKeysTable> {
  const own = bounds?.own
  if (own === undefined) return {}
  return {
    ...boundsIn(own),
    expires_at: own.expires_at,
    // Together they use and spend no more than the giver may, however many there are.
    counts_with: isLimited(own) ? countedAs(own) : null,
  }
}

/** What bounds a key, without its time. */
export function boundsIn(own: ApiKeysTable): Partial<ApiKeysTable> {
  return {
    allowed_models: own.allowed_models,
    allowed_addresses: own.allowed_addresses,
    requests_per_minute: own.requests_per_minute,
    tokens_per_minute: own.tokens_per_minute,
    images_per_minute: own.images_per_minute,
    concurrency: own.concurrency,
    budget_nano_usd: own.budget_nano_usd,
    budget_period: own.budget_period,
  }
}

/** Throws `insufficient_scope` unless each of the settings of a key is the giver's or less. */
export function assertGivable(
  bounds: Bounds | undefined,
  wanted: ApiKeysTable,
  settings: Iterable<string> = Object.keys(widerBy),
): void {
  if (bounds === undefined) return
  for (const setting of settings) {
    // Others than these are never bounded.
    const wider = widerBy[setting as Setting]?.(bounds, wanted)
    if (wider === undefined) continue
    throw new GatewayError(
      'insufficient_scope',
      `'${setting}' must not be more than the API key that asks has itself: ${wider}. A key with the scope 'admin' may give it.`,
      { param: setting },
    )
  }
}

/** Throws `insufficient_scope` for a key that is not the giver's to change. */
export function assertBelow(bounds: Bounds | undefined, target: ApiKeysTable): void {
  if (bounds === undefined) return
  const { own } = bounds
  const reason =
    widerBy.scopes(bounds, target) ??
    widerBy.mode(bounds, target) ??
    (own !== undefined && isLimited(own) && countedAs(own) !== countedAs(target)
      ? 'it does not count with the limits and the budget of that key'
      : undefined)
  if (reason === undefined) return
  throw new GatewayError(
    'insufficient_scope',
    `The API key that asks may not change this one: ${reason}. A key with the scope 'admin' may.`,
  )
}

/** Why a setting of a key is wider than the giver's; undefined where it is not. */
const widerBy: Record<Setting, (bounds: Bounds, wanted: ApiKeysTable) => string | undefined> = {
  mode: ({ own }, { mode }) =>
    own?.mode === 'test' && mode === 'live' ? 'a test key makes no live key' : undefined,
  scopes: ({ scopes }, wanted) => {
    const more = scopesOf(wanted).find((scope) => !scopes.includes(scope))
    return more === undefined ? undefined : `it lacks the scope '${more}'`
  },
  models: ({ own }, wanted) => {
    const [most, asked] = [listIn(own?.allowed_models ?? null), listIn(wanted.allowed_models)]
    if (most === null) return undefined
    if (asked === null) return 'it may call certain models alone'
    const more = asked.find((model) => !most.includes(model))
    return more === undefined ? undefined : `it may not call '${more}'`
  },
  allowed_addresses: ({ own }, wanted) => {
    const [most, asked] = [listIn(own?.allowed_addresses ?? null), listIn(wanted.allowed_addresses)]
    if (most === null) return undefined
    if (asked === null) return 'it has allowed addresses'
    const more = asked.find((inner) => !most.some((outer) => isWithin(inner, outer)))
    return more === undefined ? undefined : `it may not be used from ${more}`
  },
  expires_at: ({ own }, { expires_at: asked }) => {
    const most = own?.expires_at ?? null
    return isMore(asked, most) ? 'it ends before' : undefined
  },
  limits: ({ own }, wanted) => {
    if (own === undefined) return undefined
    const more = limitColumns.find((column) => isMore(wanted[column], own[column]))
    return more === undefined ? undefined : `its ${more} is ${own[more]}`
  },
  budget: ({ own }, wanted) => {
    const most = own === undefined ? null : allowanceOf(own).budget
    if (most === null) return undefined
    const isLess =
      wanted.budget_period === most.period && !isMore(wanted.budget_nano_usd, most.nanoUsd)
    return isLess ? undefined : `it has a budget by ${most.period} itself`
  },
}

const limitColumns = [
  'requests_per_minute',
  'tokens_per_minute',
  'images_per_minute',
  'concurrency',
] as const

/** Whether a bound is wider than another; null is none. */
function isMore(asked: number | null, most: number | null): boolean {
  return most !== null && (asked === null || asked > most)
}

function isLimited(row: ApiKeysTable): boolean {
  return row.budget_nano_usd !== null || limitColumns.some((column) => row[column] !== null)
}

function scopesOf({ scopes }: ApiKeysTable): Scope[] {
  // Written by `createKeys`.
  return JSON.parse(scopes) as Scope[]
}
