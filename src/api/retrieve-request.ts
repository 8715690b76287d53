import type { components } from '../../generated/types.ts'
import type { Operation } from '../http/operation.ts'

/** One call of an account. Throws `not_found`. */
export type FindRequest = (
  accountId: string,
  id: string,
) => Promise<components['schemas']['RequestRecord']>

/** GET /api/requests/{id} */
export function retrieveRequest({ find }: { find: FindRequest }): Operation<'retrieveRequest'> {
  return async ({ caller, path }) => ({
    status: 200,
    json: await find(caller.accountId, path.id),
  })
}
