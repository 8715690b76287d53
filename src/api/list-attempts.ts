import type { components } from '../../generated/types.ts'
import type { Caller } from '../core/caller.ts'
import type { Page, PageRequest } from '../core/page.ts'
import type { Operation } from '../http/operation.ts'

/** Lists those of which a caller may know. */
export type ListAttempts = (
  by: Caller,
  page: PageRequest,
) => Promise<Page<components['schemas']['RefusedAttempt']>>

/** GET /api/attempts */
export function listAttempts({ attempts }: { attempts: ListAttempts }): Operation<'listAttempts'> {
  return async ({ caller, query }) => ({ status: 200, json: await attempts(caller, query) })
}
