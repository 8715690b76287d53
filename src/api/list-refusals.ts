import type { components, operations } from '../../generated/types.ts'
import type { Caller } from '../core/caller.ts'
import type { Operation } from '../http/operation.ts'

type Query = NonNullable<operations['listRefusals']['parameters']['query']>

/** Counts the refused calls of an account by key and cause. */
export type ListRefusals = (
  asked: Pick<Query, 'from' | 'to'> & {
    caller: Caller
    mode: components['schemas']['Mode']
    keyId: Query['key_id']
  },
) => Promise<components['schemas']['Refusals']>

/** GET /api/refusals */
export function listRefusals({ list }: { list: ListRefusals }): Operation<'listRefusals'> {
  return async ({ caller, query }) => {
    const { from, to, mode, key_id: keyId } = query
    return { status: 200, json: await list({ caller, from, to, mode, keyId }) }
  }
}
