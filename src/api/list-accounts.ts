import type { components } from '../../generated/types.ts'
import type { Administrator } from '../core/caller.ts'
import type { Page, PageRequest } from '../core/page.ts'
import type { Operation } from '../http/operation.ts'
import { administratorOf } from './administrator.ts'

type Account = components['schemas']['Account']

/** Lists the accounts that somebody may know of; `search` is a part of a name, or an id. */
export type ListAccounts = (
  by: Administrator,
  page: PageRequest,
  search: string | undefined,
) => Promise<Page<Account>>

/** What accounts have and have done, in order. */
export type ActivityOf = (
  accounts: readonly Account[],
) => Promise<components['schemas']['AccountActivity'][]>

/** GET /api/accounts */
export function listAccounts(
  { list }: { list: ListAccounts },
  activityOf: ActivityOf,
): Operation<'listAccounts'> {
  return async (call) => {
    const { search, include_activity: isActive, ...page } = call.query
    const json = await list(administratorOf(call), page, search)
    if (!isActive) return { status: 200, json }
    const activities = await activityOf(json.data)
    const data = json.data.map((account, index) => ({ ...account, activity: activities[index]! }))
    return { status: 200, json: { ...json, data } }
  }
}
