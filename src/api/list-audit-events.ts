import type { components } from '../../generated/types.ts'
import type { Page, PageRequest } from '../core/page.ts'
import type { Operation } from '../http/operation.ts'

type Filter = {
  accountId: string
  action?: string | undefined
  target?: string | undefined
  by?: string | undefined
}

/** Lists what was done to an account. */
export type ListAudit = (
  filter: Filter,
  page: PageRequest,
) => Promise<Page<components['schemas']['AuditEvent']>>

/** GET /api/audit */
export function listAuditEvents({ list }: { list: ListAudit }): Operation<'listAuditEvents'> {
  return async ({ caller, query }) => {
    const { action, target, by, ...page } = query
    const json = await list({ accountId: caller.accountId, action, target, by }, page)
    return { status: 200, json }
  }
}
