import type { UsageLimits } from '../core/caller.ts'
import type { Operations } from '../http/contract-router.ts'
import { exportRequests, type ExportRequests } from './export-requests.ts'
import { exportUsage, type ExportUsage } from './export-usage.ts'
import { createAccount, type CreateAccount } from './create-account.ts'
import { createKey, type CreateKey } from './create-key.ts'
import { listAccounts, type ActivityOf, type ListAccounts } from './list-accounts.ts'
import { listAttempts, type ListAttempts } from './list-attempts.ts'
import { listCatalog, type DescribeCatalog } from './list-catalog.ts'
import { listProviders, type DescribeProviders } from './list-providers.ts'
import { listAuditEvents, type ListAudit } from './list-audit-events.ts'
import { listRequestErrors, type ListRequestErrors } from './list-request-errors.ts'
import { listRefusals, type ListRefusals } from './list-refusals.ts'
import { listRequests, type ListRequests } from './list-requests.ts'
import { peopleOperations, type PeopleOptions } from './people.ts'
import { reloadSettings, type Reload } from './reload-settings.ts'
import { reportUsage, type ReportUsage } from './report-usage.ts'
import { retrieveOwnKey, type BudgetsOf, type LookAtLimits } from './retrieve-own-key.ts'
import { retrieveRequest, type FindRequest } from './retrieve-request.ts'
import { endConnection, type EndConnection } from './end-connection.ts'
import { listClients, type ListToolClients } from './list-clients.ts'
import { listConnections } from './list-connections.ts'
import { listKeys, type ListKeys } from './list-keys.ts'
import { listUnknownAttempts, type ListUnknownAttempts } from './list-unknown-attempts.ts'
import { retrieveAccount, type RetrieveAccount } from './retrieve-account.ts'
import { retrieveCache, type CacheSettings } from './retrieve-cache.ts'
import { retrieveKey, type RetrieveKey } from './retrieve-key.ts'
import { revokeKey, type RevokeKey } from './revoke-key.ts'
import { rotateKey, type RotateKey } from './rotate-key.ts'
import { updateAccount, type UpdateAccount } from './update-account.ts'
import { updateKey, type UpdateKey } from './update-key.ts'

type Options = PeopleOptions & {
  audit: { list: ListAudit }
  /** The limits of the settings in force. */
  limitsInForce: () => ReturnType<CacheSettings> & UsageLimits
  budgets: { statesFor: BudgetsOf }
  reload: Reload
  activityOf: ActivityOf
  describeCatalog: DescribeCatalog
  describeProviders: DescribeProviders
  usage: { report: ReportUsage; groups: ExportUsage; requests: ExportRequests }
  lookAtLimits: LookAtLimits
  refusals: { list: ListRefusals }
  requests: { list: ListRequests; find: FindRequest; errors: ListRequestErrors }
  accounts: {
    list: ListAccounts
    create: CreateAccount
    retrieve: RetrieveAccount
    update: UpdateAccount
  }
  connections: { clients: ListToolClients; attempts: ListAttempts; unknown: ListUnknownAttempts }
  keys: {
    list: ListKeys
    create: CreateKey
    retrieve: RetrieveKey
    update: UpdateKey
    revoke: RevokeKey & EndConnection
    rotate: RotateKey
  }
}

/** The handlers of the operations below /api. */
export function apiOperations(options: Options) {
  const { audit, accounts, activityOf, limitsInForce, keys, budgets, usage, requests } = options
  const { lookAtLimits, reload, connections, refusals } = options
  const { describeCatalog, describeProviders } = options
  return {
    exportRequests: exportRequests(usage),
    exportUsage: exportUsage(usage),
    listAccounts: listAccounts(accounts, activityOf),
    createAccount: createAccount(accounts),
    retrieveAccount: retrieveAccount(accounts, activityOf, limitsInForce),
    updateAccount: updateAccount(accounts),
    listAuditEvents: listAuditEvents(audit),
    retrieveCache: retrieveCache(limitsInForce),
    retrieveOwnKey: retrieveOwnKey(lookAtLimits, budgets.statesFor),
    listRequests: listRequests(requests),
    listRequestErrors: listRequestErrors(requests),
    listRefusals: listRefusals(refusals),
    retrieveRequest: retrieveRequest(requests),
    listKeys: listKeys(keys),
    createKey: createKey(keys),
    retrieveKey: retrieveKey(keys),
    updateKey: updateKey(keys),
    revokeKey: revokeKey(keys),
    rotateKey: rotateKey(keys),
    listConnections: listConnections(keys),
    endConnection: endConnection(keys),
    listCatalog: listCatalog(describeCatalog),
    listProviders: listProviders(describeProviders),
    listClients: listClients(connections),
    listAttempts: listAttempts(connections),
    listUnknownAttempts: listUnknownAttempts(connections),
    reloadSettings: reloadSettings(reload),
    reportUsage: reportUsage(usage),
    ...peopleOperations(options),
  } satisfies Partial<Operations>
}
