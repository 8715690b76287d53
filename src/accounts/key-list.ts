import type { Kysely, SelectQueryBuilder } from 'kysely'
import type { components } from '../../generated/types.ts'
import type { Store } from '../storage/store.ts'
import type { Tables } from '../storage/tables.ts'
import { countOf, isInName } from './list-page.ts'

type ApiKey = components['schemas']['ApiKey']

export type KeyFilter = {
  /** Undefined for the keys of all accounts. */
  accountId?: string
  state?: ApiKey['state'] | undefined
  /** Undefined for all kinds except session keys. */
  kind?: ApiKey['kind'] | undefined
  /** The id of the person who created the key. */
  createdBy?: string | undefined
  mode?: ApiKey['mode'] | undefined
  /** Part of the name. */
  name?: string | undefined
}

/** Counts the active API keys at a Unix time in milliseconds. */
export function countActiveKeys({ db }: Pick<Store, 'db'>, nowMs: number): Promise<number> {
  return countOf(inState(db.selectFrom('api_keys'), 'active', nowMs).where('kind', '=', 'key'))
}

/** Restricts a query of keys to a state at a Unix time in milliseconds. */
export function inState<Row>(
  rows: SelectQueryBuilder<Tables, 'api_keys', Row>,
  state: ApiKey['state'],
  nowMs: number,
) {
  if (state === 'revoked') return rows.where('revoked_at', 'is not', null)
  const unrevoked = rows.where('revoked_at', 'is', null)
  return state === 'expired'
    ? unrevoked.where('expires_at', '<=', nowMs)
    : unrevoked.where((one) =>
        one.or([one('expires_at', 'is', null), one('expires_at', '>', nowMs)]),
      )
}

/** Selects the keys that match a filter at a Unix time in milliseconds. */
export function selectKeys(
  db: Kysely<Tables>,
  { accountId, kind, createdBy, state, mode, name }: KeyFilter,
  nowMs: number,
) {
  let rows = db.selectFrom('api_keys').selectAll()
  if (accountId !== undefined) rows = rows.where('account_id', '=', accountId)
  // Session keys are created and ended automatically, so they are listed only on request.
  rows = kind === undefined ? rows.where('kind', '!=', 'session') : rows.where('kind', '=', kind)
  // Keys of provider states end by themselves.
  rows = rows.where('played', 'is', null)
  if (createdBy !== undefined) rows = rows.where('created_by', '=', createdBy)
  if (mode !== undefined) rows = rows.where('mode', '=', mode)
  if (state !== undefined) rows = inState(rows, state, nowMs)
  if (name !== undefined) rows = rows.where(isInName(name))
  return rows
}
