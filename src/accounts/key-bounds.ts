import type { Transaction } from 'kysely'
import type { Administrator, Scope } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import { isWithin } from '../core/networks.ts'
import { usdText } from '../core/money/price.ts'
import type { AllowanceColumns, ApiKeysTable, Tables } from '../storage/tables.ts'
import {
  allowanceColumns,
  allowanceOf,
  countedAs,
  isLimited,
  limitColumns,
  noAllowance,
  tagRows,
} from './allowance.ts'
import { endOfKey } from './identify.ts'
import { listIn, scopesIn, timeText } from './key-form.ts'
import { keyBoundsIn } from './member-limits.ts'
import { roleIn } from './memberships.ts'
import { remainingScopes } from './role.ts'
import { dayMs } from './usage/range.ts'

/** The person or key that creates and changes keys. */
export type KeyIssuer = Pick<Administrator, 'id' | 'address' | 'scopes'> &
  Partial<Pick<Administrator, 'accountId'>>

/** The restrictions of a key. */
type Restrictions = Pick<
  ApiKeysTable,
  | 'mode'
  | 'allowed_models'
  | 'allowed_addresses'
  | 'expires_at'
  | 'tag_budgets'
  | keyof AllowanceColumns
>

/** The limits of what an issuer may grant: the scopes and settings of its key, or the bounds of a member. */
export type Bounds = {
  scopes: readonly Scope[]
  /** The settings that no key may exceed; undefined without any. */
  own: Restrictions | undefined
  /** The key that the issuer uses; undefined for a person. */
  key: ApiKeysTable | undefined
  readAt: number
}

type Setting =
  | 'mode'
  | 'scopes'
  | 'models'
  | 'allowed_addresses'
  | 'expires_at'
  | 'limits'
  | 'budget'
  | 'tag_budgets'

/**
 * What an issuer may grant; undefined for an administrator of the account. It is read in the transaction
 * of the change, so that a key that was revoked or restricted in the meantime grants no more than it has.
 */
export async function boundsOf(
  transaction: Transaction<Tables>,
  { id, scopes, accountId = '' }: KeyIssuer,
  nowMs: number,
): Promise<Bounds | undefined> {
  if (!id.startsWith('key_')) {
    if (scopes.includes('admin')) return undefined
    const own = await restrictionsOf(transaction, { accountId, personId: id }, nowMs)
    return { scopes: remainingScopes(scopes, 'member'), own, key: undefined, readAt: nowMs }
  }
  const own = await transaction
    .selectFrom('api_keys')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst()
  const ended = endOfKey(own, nowMs)
  if (ended !== undefined || own === undefined) throw ended
  const now = remainingScopes(
    scopesIn(own),
    own.created_by === null ? 'owner' : await roleIn(transaction, own.created_by, own.account_id),
  )
  if (now.includes('admin')) return undefined
  if (!now.includes('keys:write')) {
    throw new GatewayError('insufficient_scope', "The API key has lost the scope 'keys:write'.")
  }
  return { scopes: now, own, key: own, readAt: nowMs }
}

/** The bounds of the keys that a member may create. */
async function restrictionsOf(
  transaction: Transaction<Tables>,
  { accountId, personId }: { accountId: string; personId: string },
  nowMs: number,
): Promise<Restrictions | undefined> {
  const member = await transaction
    .selectFrom('members')
    .select(['sandbox_only', 'key_bounds'])
    .where('account_id', '=', accountId)
    .where('person_id', '=', personId)
    .executeTakeFirst()
  const bounds = member && keyBoundsIn(member)
  if (!bounds) return undefined
  const { models, expires_in_days: days } = bounds
  return {
    mode: member.sandbox_only === 1 ? 'test' : 'live',
    allowed_models: models ? JSON.stringify(models) : null,
    allowed_addresses: null,
    expires_at: days ? nowMs + days * dayMs : null,
    tag_budgets: null,
    ...noAllowance,
    ...allowanceColumns(bounds),
  }
}

/** The id of the issuing person, or of the person who created the issuing key; null if unknown. */
export async function creatorOf(
  transaction: Transaction<Tables>,
  { id }: Pick<KeyIssuer, 'id'>,
): Promise<string | null> {
  if (id.startsWith('usr_')) return id
  const own = await transaction
    .selectFrom('api_keys')
    .select('created_by')
    .where('id', '=', id)
    .executeTakeFirst()
  return own?.created_by ?? null
}

/** Defaults for a new key: the restrictions of the issuer's own key. */
export function inherited(bounds: Pick<Bounds, 'own' | 'key'> | undefined): Partial<ApiKeysTable> {
  const { own, key } = bounds ?? {}
  if (own === undefined) return {}
  return {
    ...boundsIn(own),
    expires_at: own.expires_at,
    // All keys of one issuing key share its limits and budget.
    counts_with: key !== undefined && isLimited(key) ? countedAs(key) : null,
  }
}

/** The restrictions of a key, without its expiry. */
export function boundsIn(own: Restrictions): Partial<ApiKeysTable> {
  return {
    allowed_models: own.allowed_models,
    allowed_addresses: own.allowed_addresses,
    requests_per_minute: own.requests_per_minute,
    tokens_per_minute: own.tokens_per_minute,
    images_per_minute: own.images_per_minute,
    concurrency: own.concurrency,
    budget_nano_usd: own.budget_nano_usd,
    budget_period: own.budget_period,
    tag_budgets: own.tag_budgets,
  }
}

/** Throws `insufficient_scope` if a setting of a key exceeds the issuer's own setting. */
export function assertGrantable(
  bounds: Bounds | undefined,
  wanted: ApiKeysTable,
  settings: Iterable<string> = Object.keys(widerBy),
): void {
  if (bounds === undefined) return
  for (const setting of settings) {
    // Settings that `widerBy` does not list are unrestricted.
    const wider = widerBy[setting as Setting]?.(bounds, wanted)
    if (wider === undefined) continue
    const text =
      bounds.key === undefined
        ? `'${setting}' exceeds what you may give keys in this account: ${wider}. An administrator of the account can change these bounds.`
        : `'${setting}' exceeds what the calling API key may grant: ${wider}. A key with the scope 'admin' may grant it.`
    throw new GatewayError('insufficient_scope', text, { param: setting })
  }
}

/** Throws `insufficient_scope` for a key that the issuer may not change. */
export function assertMayChangeKey(bounds: Bounds | undefined, target: ApiKeysTable): void {
  if (bounds === undefined) return
  const { key } = bounds
  // A person without the scope 'admin' finds only keys of their own.
  if (key === undefined) return
  const reason =
    widerBy.scopes(bounds, target) ??
    widerBy.mode(bounds, target) ??
    (isLimited(key) && countedAs(key) !== countedAs(target)
      ? 'this key does not share the limits and the budget of the calling key'
      : undefined)
  if (reason === undefined) return
  throw new GatewayError(
    'insufficient_scope',
    `The calling API key may not change this key: ${reason}. A key with the scope 'admin' may.`,
  )
}

/** Why a setting of a key exceeds the issuer's setting; undefined if it does not. */
const widerBy: Record<Setting, (bounds: Bounds, wanted: ApiKeysTable) => string | undefined> = {
  mode: ({ own, key }, { mode }) => {
    if (own?.mode !== 'test' || mode !== 'live') return undefined
    return key === undefined
      ? 'your access is limited to the sandbox'
      : 'a test key cannot create a live key'
  },
  scopes: ({ scopes, key }, wanted) => {
    const more = scopesIn(wanted).find((scope) => !scopes.includes(scope))
    return more === undefined
      ? undefined
      : `${key === undefined ? 'you lack' : 'it lacks'} the scope '${more}'`
  },
  models: ({ own, key }, wanted) => {
    const [most, asked] = [listIn(own?.allowed_models ?? null), listIn(wanted.allowed_models)]
    if (most === null) return undefined
    const it = key === undefined ? 'such a key' : 'it'
    if (asked === null) return `${it} is restricted to certain models`
    const more = asked.find((model) => !most.includes(model))
    return more === undefined ? undefined : `${it} may not call '${more}'`
  },
  allowed_addresses: ({ own }, wanted) => {
    const [most, asked] = [listIn(own?.allowed_addresses ?? null), listIn(wanted.allowed_addresses)]
    if (most === null) return undefined
    if (asked === null) return 'it is restricted to certain addresses'
    const more = asked.find((inner) => !most.some((outer) => isWithin(inner, outer)))
    return more === undefined ? undefined : `it may not be used from ${more}`
  },
  expires_at: ({ own, key, readAt }, { expires_at: asked, created_at: madeAt }) => {
    const end = own?.expires_at ?? null
    if (end === null) return undefined
    // What bounds of a person end is a lifetime: a change does not begin it again.
    const most = key === undefined ? end - (readAt - madeAt) : end
    if (!isMore(asked, most)) return undefined
    return key === undefined ? `such a key expires by ${timeText(most)}` : 'it expires earlier'
  },
  limits: ({ own, key }, wanted) => {
    if (own === undefined) return undefined
    const more = limitColumns.find((column) => isMore(wanted[column], own[column]))
    if (more === undefined) return undefined
    return `${key === undefined ? 'the most' : 'its'} ${more} is ${own[more]}`
  },
  budget: ({ own, key }, wanted) => {
    const most = own === undefined ? null : allowanceOf({ ...own, id: '' }).budget
    if (most === null) return undefined
    const { budget_nano_usd: nano, budget_period: period } = wanted
    if (period === most.period && !isMore(nano, most.nanoUsd)) return undefined
    const bound =
      key === undefined
        ? `such a key has at most $${usdText(most.nanoUsd)} (${most.period})`
        : `it is limited by its own budget (${most.period})`
    // Amounts of different periods are not compared: a small one by day may be more in a month.
    return period === null || period === most.period
      ? bound
      : `${bound}, and the period must be the same, not '${period}'`
  },
  tag_budgets: ({ key }, wanted) => {
    if (key === undefined) return undefined
    const asked = new Map(tagRows(wanted).map((one) => [one.tag, one]))
    const most = tagRows(key).find((one) => {
      const { budget_period: period, budget_nano_usd: nano = null } = asked.get(one.tag) ?? {}
      return period !== one.budget_period || isMore(nano, one.budget_nano_usd)
    })
    return most && `it is limited by its own budget for the tag '${most.tag}'`
  },
}

/** Whether a bound is wider than another; null means unlimited. */
function isMore(asked: number | null, most: number | null): boolean {
  return most !== null && (asked === null || asked > most)
}
