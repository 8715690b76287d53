import { createAccounts, type Accounts } from '../accounts/accounts.ts'
import { createAudit } from '../accounts/audit.ts'
import { createKeys, type Keys } from '../accounts/keys.ts'
import { configuredCatalog, readCatalogRows } from '../catalog/catalog.ts'
import { keyModelIds } from '../catalog/new-key-models.ts'
import { loadConfig, readVariables, type Config } from '../config.ts'
import { namePrefixes as prefixes } from '../providers/index.ts'
import { openStore } from '../storage/open-store.ts'

/** Runs with the accounts and keys of the store, which is closed behind it. */
export async function withAccounts<T>(
  notice: (line: string) => void,
  run: (parts: { accounts: Accounts; keys: Keys }) => Promise<T>,
): Promise<T> {
  const { config, secrets } = loadConfig(readVariables())
  const store = await openStore(config, secrets, notice)
  const clock = Date.now
  const audit = createAudit(store, clock)
  const modelIds = (names: readonly string[]) => modelIdsOf(names, config)
  try {
    return await run({
      accounts: createAccounts({ store, audit, clock }),
      keys: createKeys({ store, audit, modelIds, clock }),
    })
  } finally {
    await store.close()
  }
}

function modelIdsOf(names: readonly string[], config: Config): string[] {
  const catalog = configuredCatalog({
    ...config,
    rows: readCatalogRows(),
    prefixes,
    clock: Date.now,
  })
  return keyModelIds(names, { catalog, endpoints: config.endpoints, prefixes })
}
