import type { components, operations } from '../../generated/types.ts'
import type { Operation, OperationCall } from '../http/operation.ts'

type Schemas = components['schemas']
type Query = NonNullable<operations['reportUsage']['parameters']['query']>

/** What is asked of a report, whoever makes it. */
type ReportRequest = Pick<Query, 'from' | 'to' | 'cursor'> & {
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
  return async (call) => ({
    status: 200,
    json: await report(reportRequestOf(call), call.query.limit),
  })
}

/** What the query of a report asks for. */
export function reportRequestOf({
  caller,
  query,
}: Pick<OperationCall<'reportUsage'>, 'caller' | 'query'>): ReportRequest {
  const { from, to, mode, group_by: groupBy = [], order_by: orderBy, order, cursor } = query
  const { model, provider, key, face, modality, outcome } = query
  const filter = { model, provider, key, face, modality, outcome }
  const { accountId } = caller
  return { accountId, from, to, mode, filter, groupBy, orderBy, order, cursor }
}
