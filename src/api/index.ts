import type { Operations } from '../http/contract-router.ts'
import { exportRequests, type ExportRequests } from './export-requests.ts'
import { exportUsage, type ExportUsage } from './export-usage.ts'
import { listAuditEvents, type ListAudit } from './list-audit-events.ts'
import { listRequests, type ListRequests } from './list-requests.ts'
import { peopleOperations, type PeopleOptions } from './people.ts'
import { reloadSettings, type Reload } from './reload-settings.ts'
import { reportUsage, type ReportUsage } from './report-usage.ts'
import { retrieveOwnKey, type BudgetsOf, type LookAtLimits } from './retrieve-own-key.ts'
import { retrieveRequest, type FindRequest } from './retrieve-request.ts'

type Options = PeopleOptions & {
  audit: { list: ListAudit }
  budgets: { statesFor: BudgetsOf }
  lookAtLimits: LookAtLimits
  reload: Reload
  usage: { report: ReportUsage; groups: ExportUsage; requests: ExportRequests }
  requests: { list: ListRequests; find: FindRequest }
}

/** The handlers of the operations below /api. */
export function apiOperations(options: Options) {
  const { audit, budgets, lookAtLimits, reload, usage, requests, ...people } = options
  return {
    exportRequests: exportRequests(usage),
    exportUsage: exportUsage(usage),
    listAuditEvents: listAuditEvents(audit),
    listRequests: listRequests(requests),
    reloadSettings: reloadSettings(reload),
    reportUsage: reportUsage(usage),
    retrieveOwnKey: retrieveOwnKey(lookAtLimits, budgets.statesFor),
    retrieveRequest: retrieveRequest(requests),
    ...peopleOperations(people),
  } satisfies Partial<Operations>
}
