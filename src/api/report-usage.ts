import type { components, operations } from '../../generated/types.ts'
import type { Caller } from '../core/caller.ts'
import type { Operation } from '../http/operation.ts'

type Schemas = components['schemas']
type Query = NonNullable<operations['reportUsage']['parameters']['query']>

/** What is asked of a report, whoever makes it. */
export type ReportRequest = Pick<Query, 'from' | 'to' | 'cursor'> & {
  accountId: string
  mode: Schemas['Mode']
  filter: Pick<Query, 'model' | 'provider' | 'key' | 'face' | 'modality' | 'outcome'>
  groupBy: readonly Schemas['UsageDimension'][]
  orderBy: 'time' | 'cost'
  order: 'asc' | 'desc'
}

export type ReportUsage = (request: ReportRequest, limit: number) => Promise<Schemas['UsageReport']>

/** GET /api/usage */
export function reportUsage({ report }: { report: ReportUsage }): Operation<'reportUsage'> {
  return async ({ caller, query }) => ({
    status: 200,
    json: await report({ ...reportRequestOf(caller, query), cursor: query.cursor }, query.limit),
  })
}

/** What the query of a report asks for. */
export function reportRequestOf(
  { accountId }: Pick<Caller, 'accountId'>,
  query: Omit<Query, 'limit' | 'cursor'>,
): ReportRequest {
  const { from, to, mode, group_by: groupBy = [], order_by: orderBy, order } = query
  return { accountId, from, to, mode, filter: filterOf(query), groupBy, orderBy, order }
}

/** Which calls are asked for. */
export function filterOf({
  model,
  provider,
  key,
  face,
  modality,
  outcome,
}: ReportRequest['filter']): ReportRequest['filter'] {
  return { model, provider, key, face, modality, outcome }
}
