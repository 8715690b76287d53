import type { components } from '../../generated/types.ts'
import type { Page, PageRequest } from '../core/page.ts'
import type { Operation } from '../http/operation.ts'

/** Lists refused attempts of which nobody knows whose they are. */
export type ListUnknownAttempts = (
  page: PageRequest,
) => Promise<Page<components['schemas']['RefusedAttempt']>>

/** GET /api/attempts/unknown */
export function listUnknownAttempts({
  unknown,
}: {
  unknown: ListUnknownAttempts
}): Operation<'listUnknownAttempts'> {
  return async ({ query }) => ({ status: 200, json: await unknown(query) })
}
