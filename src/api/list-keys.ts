import type { components } from '../../generated/types.ts'
import type { Page, PageRequest } from '../core/page.ts'
import type { Operation } from '../http/operation.ts'

type ApiKey = components['schemas']['ApiKey']
type Filter = {
  /** Undefined for all accounts. */
  accountId?: string
  kind?: ApiKey['kind'] | undefined
  createdBy?: string | undefined
  state?: ApiKey['state'] | undefined
  mode?: ApiKey['mode'] | undefined
  name?: string | undefined
}

/** Lists keys. */
export type ListKeys = (filter: Filter, page: PageRequest) => Promise<Page<ApiKey>>

/** GET /api/keys */
export function listKeys({ list }: { list: ListKeys }): Operation<'listKeys'> {
  return async ({ caller, query }) => {
    const { state, kind, mode, name, created_by: createdBy, ...page } = query
    const { accountId } = caller
    const json = await list({ accountId, state, kind, mode, name, createdBy }, page)
    return { status: 200, json }
  }
}
