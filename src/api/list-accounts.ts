import type { components } from '../../generated/types.ts'
import type { Administrator } from '../core/caller.ts'
import type { Page, PageRequest } from '../core/page.ts'
import type { Operation } from '../http/operation.ts'
import { administratorOf } from './administrator.ts'

/** Lists the accounts that somebody may know of. */
export type ListAccounts = (
  by: Administrator,
  page: PageRequest,
) => Promise<Page<components['schemas']['Account']>>

/** GET /api/accounts */
export function listAccounts({ list }: { list: ListAccounts }): Operation<'listAccounts'> {
  return async (call) => ({ status: 200, json: await list(administratorOf(call), call.query) })
}
