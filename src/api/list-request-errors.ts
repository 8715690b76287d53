import type { components, operations } from '../../generated/types.ts'
import type { Operation } from '../http/operation.ts'

type Query = NonNullable<operations['listRequestErrors']['parameters']['query']>

/** Groups the failed calls of an account by their cause. */
export type ListRequestErrors = (
  asked: Pick<Query, 'from' | 'to' | 'model' | 'member'> & {
    accountId: string
    mode: components['schemas']['Mode']
    keyId: Query['key_id']
  },
) => Promise<components['schemas']['RequestErrors']>

/** GET /api/requests/errors */
export function listRequestErrors({
  errors,
}: {
  errors: ListRequestErrors
}): Operation<'listRequestErrors'> {
  return async ({ caller, query }) => {
    const { from, to, mode, model, key_id: keyId, member } = query
    const { accountId } = caller
    return { status: 200, json: await errors({ accountId, from, to, mode, model, keyId, member }) }
  }
}
