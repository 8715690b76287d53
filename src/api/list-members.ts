import type { components } from '../../generated/types.ts'
import type { Caller } from '../core/caller.ts'
import type { Page, PageRequest } from '../core/page.ts'
import type { Operation } from '../http/operation.ts'

type Options = {
  list: (caller: Caller, page: PageRequest) => Promise<Page<components['schemas']['Member']>>
}

/** GET /api/members */
export function listMembers({ list }: Options): Operation<'listMembers'> {
  return async ({ caller, query }) => ({
    status: 200,
    json: await list(caller, query),
  })
}
