import type { components, operations } from '../../generated/types.ts'
import type { Caller } from '../core/caller.ts'
import type { Operation } from '../http/operation.ts'

type Schemas = components['schemas']
type Query = NonNullable<operations['reportUsage']['parameters']['query']>

/** What is asked of a report, whoever makes it. */
export type ReportRequest = Pick<Query, 'from' | 'to' | 'cursor'> & {
  accountId: string
  mode: Schemas['Mode']
  filter: Pick<Query, 'model' | 'provider' | 'key' | 'member' | 'face' | 'modality' | 'outcome'>
  groupBy: readonly Schemas['UsageDimension'][]
  orderBy: 'time' | 'cost'
  order: 'asc' | 'desc'
}

export type ReportUsage = (request: ReportRequest, limit: number) => Promise<Schemas['UsageReport']>

/** GET /api/usage */
export function reportUsage({ report }: { report: ReportUsage }): Operation<'reportUsage'> {
  return async ({ caller, query }) => {
    const { group_by: groupBy = [], order_by: orderBy, cursor, limit } = query
    const request = { ...rangeAsked(caller, query), groupBy, orderBy, cursor }
    return { status: 200, json: await report(request, limit), mayBeCoded: true }
  }
}

/** Which calls a query asks for, and in which order. */
export function rangeAsked(
  { accountId }: Pick<Caller, 'accountId'>,
  query: Pick<Query, 'from' | 'to' | 'mode' | 'order'> & ReportRequest['filter'],
): Omit<ReportRequest, 'groupBy' | 'orderBy' | 'cursor'> {
  const { from, to, mode, order, model, provider, key, member, face, modality, outcome } = query
  const filter = { model, provider, key, member, face, modality, outcome }
  return { accountId, from, to, mode, filter, order }
}
