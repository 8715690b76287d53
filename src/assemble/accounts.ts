import { createAccounts } from '../accounts/accounts.ts'
import { createAudit } from '../accounts/audit.ts'
import { createIdentify } from '../accounts/identify.ts'
import { createKeyWatch } from '../accounts/key-watch.ts'
import { createLastUse } from '../accounts/last-use.ts'
import type { Config } from '../config.ts'
import type { GuardedStore } from '../storage/store-guard.ts'

type Options = {
  store: GuardedStore
  limits: Config['limits']
  clock: () => number
  monotonic: () => number
}

/** The accounts, and what knows and follows their keys. */
export function assembleAccounts({ store, limits, clock, monotonic }: Options) {
  const audit = createAudit(store, clock)
  const lastUse = createLastUse({ store, clock, ...limits })
  const keyWatch = createKeyWatch({ store, clock, ...limits })
  return {
    audit,
    accounts: createAccounts({ store, audit, clock }),
    lastUse,
    identify: createIdentify({ store, clock, monotonic, ...limits, onUse: lastUse.note }),
    followKey: keyWatch.follow,
    close: async () => {
      keyWatch.close()
      await lastUse.close()
    },
  }
}
