import type { components } from '../../generated/types.ts'
import type { Refusals } from '../accounts/refusals.ts'
import type { RequestsRequest } from '../accounts/usage/export.ts'
import type { Latencies } from '../accounts/usage/latency.ts'
import type { UsageReports } from '../accounts/usage/report.ts'
import type { RequestErrors } from '../accounts/usage/request-errors.ts'
import type { Requests } from '../accounts/usage/requests.ts'
import type { Operations } from '../http/contract-router.ts'
import { ok } from './answers.ts'

type Schemas = components['schemas']

/** Dependencies of the operations on usage. */
export type UsageParts = {
  usage: UsageReports & Latencies
  requests: Requests & RequestErrors
  refusals: Pick<Refusals, 'list'>
  /** Compares a vendor's cost export with the ledger; `accountId` is the account that asks. */
  reconcile: (accountId: string, of: Schemas['CostExport']) => Promise<Schemas['Reconciliation']>
}

/** The handlers of an account's calls and usage sums. */
export function usageOperations({ usage, requests, refusals, reconcile }: UsageParts) {
  return {
    reportUsage: async ({ caller, query }) => {
      const { group_by: groupBy = [], order_by: orderBy, cursor, limit } = query
      const request = { ...rangeOf(caller, query), groupBy, orderBy, cursor }
      return { status: 200, json: await usage.report(request, limit), mayBeCoded: true }
    },
    reportLatency: async ({ caller: { accountId }, query }) =>
      ok(await usage.latency({ accountId, ...query })),
    listRequests: async ({ caller: { accountId }, query }) => {
      const { limit, cursor, order, from, to, cost_above_usd: costAboveUsd } = query
      const { mode, model, provider, key_id, face, modality, outcome, error_code, cache } = query
      const columns = { mode, model, provider, key_id, face, modality, outcome, error_code, cache }
      const { member, failed_provider: failedProvider, failure, tag } = query
      const json = await requests.list(
        { accountId, from, to, columns, costAboveUsd, member, failedProvider, failure, tag },
        { limit, cursor, order },
      )
      return { status: 200, json, mayBeCoded: true }
    },
    retrieveRequest: async ({ caller, path }) => ok(await requests.find(caller.accountId, path.id)),
    listRequestErrors: async ({ caller: { accountId }, query }) => {
      const { from, to, mode, model, key_id: keyId, member } = query
      const request = { accountId, from, to, mode, model, keyId, member }
      return { status: 200, json: await requests.errors(request) }
    },
    listRefusals: async ({ caller, query }) => {
      const { from, to, mode, key_id: keyId } = query
      return ok(await refusals.list({ caller, from, to, mode, keyId }))
    },
    reconcileCosts: async ({ caller: { accountId }, body }) => ({
      status: 200,
      json: await reconcile(accountId, body),
      mayBeCoded: true,
    }),
  } satisfies Partial<Operations>
}

/** The calls that a query selects, and their order. */
export function rangeOf(
  { accountId }: { accountId: string },
  query: Omit<RequestsRequest, 'accountId' | 'filter'> & RequestsRequest['filter'],
): RequestsRequest {
  const { from, to, mode, order, model, provider, key, member, face, modality, outcome, tag } =
    query
  const filter = { model, provider, key, member, face, modality, outcome, tag }
  return { accountId, from, to, mode, filter, order }
}
