import type { Operations } from '../http/contract-router.ts'
import { listAuditEvents, type ListAudit } from './list-audit-events.ts'
import { retrieveOwnKey } from './retrieve-own-key.ts'

type Options = { audit: { list: ListAudit } }

/** The handlers of the operations below /api. */
export function apiOperations({
  audit,
}: Options): Pick<Operations, 'listAuditEvents' | 'retrieveOwnKey'> {
  return {
    listAuditEvents: listAuditEvents(audit),
    retrieveOwnKey,
  }
}
