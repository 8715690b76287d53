import { createAccounts, type Accounts } from '../accounts/accounts.ts'
import { createAudit, type Audit } from '../accounts/audit.ts'
import { createKeys, type Keys } from '../accounts/keys.ts'
import { configuredCatalog, readCatalogRows } from '../catalog/catalog.ts'
import { keyModelIds } from '../catalog/new-key-models.ts'
import { loadConfig, siteAddress, type Config, type Secrets } from '../settings/config.ts'
import type { Announcement } from '../peers/announcement.ts'
import { announceOnce } from '../peers/channel.ts'
import { openRedis } from '../peers/redis.ts'
import { namePrefixes as prefixes } from '../providers/index.ts'
import { servedAt } from '../storage/folder-lock.ts'
import type { SchemaChange } from '../storage/migrations.ts'
import { openStore } from '../storage/open-store.ts'
import type { Notice, Store } from '../storage/store.ts'
import type { CommandContext } from './command.ts'

type Settings = { config: Config; secrets: Secrets }
export type Opened = Settings & {
  store: Store
  audit: Audit
  accounts: Accounts
  keys: Keys
  clock: () => number
}

/** The address of the running gateway from its holder file, else from the settings. */
export function gatewayAddress({ config, secrets }: Settings): string {
  const served = secrets.databaseUrl === undefined ? servedAt(config.dataDir) : undefined
  return served ?? siteAddress(config)
}

/**
 * Runs with the configured store, and closes it. Commands do not migrate the store; `create` creates a
 * missing one. Notifies running gateways of the command's changes. Throws a StoreError.
 */
export async function withStore<T>(
  schemaChange: Exclude<SchemaChange, 'migrate'>,
  { readVariables, notice }: CommandContext,
  run: (opened: Opened) => Promise<T>,
): Promise<T> {
  const { config, secrets } = loadConfig(readVariables())
  const store = await openStore({ ...config, schemaChange }, secrets, notice)
  const clock = Date.now
  const audit = createAudit(store, clock)
  const announced: Announcement[] = []
  const announce = (announcement: Announcement) => void announced.push(announcement)
  const modelIds = (names: readonly string[]) => modelIdsOf(names, config)
  const accounts = createAccounts({ store, audit, announce, clock })
  const keys = createKeys({ store, audit, announce, modelIds, clock })
  try {
    return await run({ store, audit, accounts, keys, clock, config, secrets })
  } finally {
    await notifyGateways(announced, { config, secrets }, notice)
    await store.close()
  }
}

/** Notifies running gateways through Redis, if it is configured. */
async function notifyGateways(
  announced: readonly Announcement[],
  { config: { redisKeyPrefix: keyPrefix, limits }, secrets: { redisUrl: url } }: Settings,
  notice: Notice,
): Promise<void> {
  if (announced.length === 0 || url === undefined) return
  const nothing = () => undefined
  const events = { redisLost: nothing, redisBack: nothing, redisRefused: nothing }
  try {
    const redis = await openRedis({ url, keyPrefix, limits, events })
    await announceOnce(redis, announced).finally(redis.close)
  } catch {
    notice(
      'Redis does not answer. Running gateways notice the change by themselves within a second.',
    )
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
