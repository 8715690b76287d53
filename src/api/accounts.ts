import type { Accounts } from '../accounts/accounts.ts'
import type { ActivitiesOf } from '../accounts/activity.ts'
import type { Audit } from '../accounts/audit.ts'
import { limitsForm } from '../core/limits.ts'
import type { UsageLimits } from '../core/caller.ts'
import type { Operations } from '../http/contract-router.ts'
import { administratorOf } from './administrator.ts'
import { ok } from './answers.ts'

/** Dependencies of the operations on accounts. */
export type AccountParts = {
  accounts: Accounts
  activitiesOf: ActivitiesOf
  audit: Audit
  /** The limits of the settings currently in effect. */
  limitsInForce: () => UsageLimits
}

/** The handlers of accounts and their audit events. */
export function accountOperations({ accounts, activitiesOf, audit, limitsInForce }: AccountParts) {
  return {
    listAccounts: async (call) => {
      const { search, include_activity: isActive, ...page } = call.query
      const json = await accounts.list(administratorOf(call), page, search)
      if (!isActive) return { status: 200, json }
      const activities = await activitiesOf(json.data)
      const data = json.data.map((account, index) => ({ ...account, activity: activities[index]! }))
      return { status: 200, json: { ...json, data } }
    },
    createAccount: async (call) => ({
      status: 201,
      json: await accounts.create(administratorOf(call), call.body),
    }),
    retrieveAccount: async (call) => {
      const found = await accounts.retrieve(administratorOf(call), call.path.id)
      const account = { ...found, default_limits: limitsForm(limitsInForce()) }
      if (!call.query.include_activity) return { status: 200, json: account }
      const [activity] = await activitiesOf([account])
      return { status: 200, json: { ...account, activity: activity! } }
    },
    updateAccount: async (call) =>
      ok(await accounts.update(administratorOf(call), call.path.id, call.body)),
    listAuditEvents: async ({ caller: { accountId }, query }) => {
      const { action, target, by, ...page } = query
      return ok(await audit.list({ accountId, action, target, by }, page))
    },
  } satisfies Partial<Operations>
}
