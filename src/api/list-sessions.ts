import type { components } from '../../generated/types.ts'
import type { PersonCaller } from '../core/caller.ts'
import type { Page, PageRequest } from '../core/page.ts'
import type { Operation } from '../http/operation.ts'

type Options = {
  list: (caller: PersonCaller, page: PageRequest) => Promise<Page<components['schemas']['Session']>>
}

/** GET /api/sessions */
export function listSessions({ list }: Options): Operation<'listSessions'> {
  return async ({ caller, query }) => ({ status: 200, json: await list(caller, query) })
}
