import type { components, operations } from '../../generated/types.ts'
import type { Page, PageRequest } from '../core/page.ts'
import type { Operation } from '../http/operation.ts'

type Query = NonNullable<operations['listRequests']['parameters']['query']>
type Column = 'mode' | 'model' | 'provider' | 'key_id' | 'face' | 'modality' | 'outcome' | 'cache'

type Filter = Pick<Query, 'from' | 'to'> & {
  accountId: string
  columns: Pick<Query, Column | 'error_code'>
  costAboveUsd: Query['cost_above_usd']
  member: Query['member']
  failedProvider: Query['failed_provider']
  failure: Query['failure']
}

/** Lists calls of an account. */
export type ListRequests = (
  filter: Filter,
  page: PageRequest,
) => Promise<Page<components['schemas']['RequestRecord']>>

/** GET /api/requests */
export function listRequests({ list }: { list: ListRequests }): Operation<'listRequests'> {
  return async ({ caller, query }) => {
    const { limit, cursor, order, from, to, cost_above_usd: costAboveUsd } = query
    const { mode, model, provider, key_id, face, modality, outcome, error_code, cache } = query
    const columns = { mode, model, provider, key_id, face, modality, outcome, error_code, cache }
    const { member, failed_provider: failedProvider, failure } = query
    const { accountId } = caller
    const json = await list(
      { accountId, from, to, columns, costAboveUsd, member, failedProvider, failure },
      { limit, cursor, order },
    )
    return { status: 200, json, mayBeCoded: true }
  }
}
