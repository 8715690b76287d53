import type { Accounts } from '../accounts/accounts.ts'
import { createAudit } from '../accounts/audit.ts'
import type { Budgets } from '../accounts/budgets.ts'
import { createUsageExports } from '../accounts/usage/export.ts'
import { createUsageReports } from '../accounts/usage/report.ts'
import { createRequests } from '../accounts/usage/requests.ts'
import { apiOperations } from '../api/index.ts'
import type { LookAtLimits } from '../api/retrieve-own-key.ts'
import type { Reload } from '../api/reload-settings.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { PeopleParts } from './people.ts'

type Options = {
  store: GuardedStore
  accounts: Accounts
  budgets: Budgets
  reload: Reload
  lookAtLimits: LookAtLimits
  people: PeopleParts
  clock: () => number
}

/** The operations below /api, with what they need of the accounts. */
export function assembleAdministration(options: Options) {
  const { store, people, budgets, lookAtLimits, reload, clock } = options
  const { reader } = store
  const usage = {
    ...createUsageReports({ reader, clock }),
    ...createUsageExports({ reader, clock }),
  }
  const requests = createRequests({ reader })
  const audit = createAudit(store, clock)
  return apiOperations({ ...people, audit, budgets, lookAtLimits, reload, usage, requests })
}
