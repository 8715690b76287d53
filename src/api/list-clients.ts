import type { components } from '../../generated/types.ts'
import type { Caller } from '../core/caller.ts'
import type { Page, PageRequest } from '../core/page.ts'
import type { Operation } from '../http/operation.ts'

/** Lists those of which a caller may know. */
export type ListToolClients = (
  by: Caller,
  page: PageRequest,
) => Promise<Page<components['schemas']['ToolClient']>>

/** GET /api/clients */
export function listClients({ clients }: { clients: ListToolClients }): Operation<'listClients'> {
  return async ({ caller, query }) => ({ status: 200, json: await clients(caller, query) })
}
