import type { Operations } from '../http/contract-router.ts'
import { listAuditEvents, type ListAudit } from './list-audit-events.ts'
import { reportUsage, type ReportUsage } from './report-usage.ts'
import { retrieveOwnKey } from './retrieve-own-key.ts'

type Options = { audit: { list: ListAudit }; usage: { report: ReportUsage } }

/** The handlers of the operations below /api. */
export function apiOperations({
  audit,
  usage,
}: Options): Pick<Operations, 'listAuditEvents' | 'reportUsage' | 'retrieveOwnKey'> {
  return {
    listAuditEvents: listAuditEvents(audit),
    reportUsage: reportUsage(usage),
    retrieveOwnKey,
  }
}
