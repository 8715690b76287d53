import type { Accounts } from '../accounts/accounts.ts'
import { createActivities } from '../accounts/activity.ts'
import type { Audit } from '../accounts/audit.ts'
import { createKeys } from '../accounts/keys.ts'
import type { LastUse } from '../accounts/last-use.ts'
import { createConnectionLists } from '../accounts/connection-lists.ts'
import type { KeptConnectionLog } from '../accounts/connection-log.ts'
import type { Budgets } from '../accounts/budgets.ts'
import type { Refusals } from '../accounts/refusals.ts'
import { createUsageExports } from '../accounts/usage/export.ts'
import { createUsageReports } from '../accounts/usage/report.ts'
import { createRequestErrors } from '../accounts/usage/request-errors.ts'
import { createRequests } from '../accounts/usage/requests.ts'
import { apiOperations } from '../api/index.ts'
import type { LookAtLimits } from '../api/retrieve-own-key.ts'
import { keyModelIds } from '../catalog/new-key-models.ts'
import { namePrefixes as prefixes } from '../providers/index.ts'
import type { Reload } from '../api/settings.ts'
import type { Announce } from '../peers/announcement.ts'
import type { Health } from '../policy/route-health.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { Generation } from './generation.ts'
import { assembleOverviews } from './overviews.ts'
import type { PeopleParts } from './people.ts'

type Options = {
  store: GuardedStore
  accounts: Accounts
  budgets: Budgets
  reload: Reload
  lookAtLimits: LookAtLimits
  people: PeopleParts
  announce: Announce
  audit: Audit
  lastUse: LastUse
  health: Health
  connectionLog: KeptConnectionLog
  refusals: Refusals
  /** Models are named as they are now. */
  current: () => Pick<Generation, 'config' | 'models'>
  clock: () => number
  monotonic: () => number
}

/** The operations below /api, with what they need of the accounts. */
export function assembleAdministration(options: Options) {
  const { store, accounts, audit, announce, lastUse, current, clock } = options
  const { people, budgets, lookAtLimits, reload, refusals } = options
  const modelIds = (names: readonly string[]) => {
    const { config, models } = current()
    return keyModelIds(names, { catalog: models.catalog, endpoints: config.endpoints, prefixes })
  }
  const parts = { store, audit, announce, modelIds, clock, usedAt: lastUse.of }
  const keys = createKeys(parts)
  const connections = createConnectionLists({ store, log: options.connectionLog })
  const { reader } = store
  const usage = createUsageReports({ reader, clock })
  const exports = createUsageExports({ reader, clock })
  const requests = { ...createRequests({ reader }), ...createRequestErrors({ reader, clock }) }
  const activitiesOf = createActivities({ reader, clock })
  const limitsInForce = () => current().config.limits
  const told = {
    usage,
    exports,
    requests,
    refusals,
    connections,
    activitiesOf,
    ...assembleOverviews(options),
  }
  const held = { audit, limitsInForce, accounts, keys, budgets, lookAtLimits, reload }
  const all = { ...people, ...told, ...held }
  return { keys, operations: apiOperations(all) }
}
