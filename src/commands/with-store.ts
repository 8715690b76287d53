import { createAudit } from '../accounts/audit.ts'
import { loadConfig, readVariables, siteAddress, type Config, type Secrets } from '../config.ts'
import { servedAt } from '../storage/folder-lock.ts'
import type { SchemaChange } from '../storage/migrations.ts'
import { openStore } from '../storage/open-store.ts'
import type { Notice, Store } from '../storage/store.ts'

type Opened = {
  store: Store
  audit: ReturnType<typeof createAudit>
  clock: () => number
  config: Config
  secrets: Secrets
}

/** Where the gateway that has the store is reached: as it says itself, else as the settings say. */
export function gatewayAddress({ config, secrets }: Pick<Opened, 'config' | 'secrets'>): string {
  const served = secrets.databaseUrl === undefined ? servedAt(config.dataDir) : undefined
  return served ?? siteAddress(config)
}

/**
 * Runs with the store of the settings, which is closed after. A command migrates no store: `create` makes
 * one where there is none. Throws a StoreError.
 */
export async function withStore<T>(
  schemaChange: Exclude<SchemaChange, 'migrate'>,
  notice: Notice,
  run: (opened: Opened) => Promise<T>,
): Promise<T> {
  const { config, secrets } = loadConfig(readVariables())
  const store = await openStore({ ...config, schemaChange }, secrets, notice)
  const clock = Date.now
  try {
    return await run({ store, audit: createAudit(store, clock), clock, config, secrets })
  } finally {
    await store.close()
  }
}
