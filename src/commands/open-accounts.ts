import { announcedAccounts, announcedKeys, type Announce } from '../accounts/announced.ts'
import { createAccounts, type Accounts } from '../accounts/accounts.ts'
import { createKeys, type Keys } from '../accounts/keys.ts'
import { configuredCatalog, readCatalogRows } from '../catalog/catalog.ts'
import { keyModelIds } from '../catalog/new-key-models.ts'
import type { Config, Secrets } from '../config.ts'
import type { Announcement } from '../peers/announcement.ts'
import { announceOnce } from '../peers/redis-channel.ts'
import { openRedis } from '../peers/redis.ts'
import { namePrefixes as prefixes } from '../providers/index.ts'
import type { SchemaChange } from '../storage/migrations.ts'
import { withStore } from './with-store.ts'

/** Runs with the accounts and keys of the store, as `withStore`. */
export async function withAccounts<T>(
  schemaChange: Exclude<SchemaChange, 'migrate'>,
  notice: (line: string) => void,
  run: (parts: { accounts: Accounts; keys: Keys }) => Promise<T>,
): Promise<T> {
  const announced: Announcement[] = []
  const announce: Announce = (announcement) => void announced.push(announcement)
  return withStore(schemaChange, notice, async ({ store, audit, clock, config, secrets }) => {
    const modelIds = (names: readonly string[]) => modelIdsOf(names, config)
    try {
      return await run({
        accounts: announcedAccounts(createAccounts({ store, audit, clock }), announce),
        keys: announcedKeys(createKeys({ store, audit, modelIds, clock }), announce),
      })
    } finally {
      await tell(announced, { config, secrets, notice })
    }
  })
}

type Told = { config: Config; secrets: Secrets; notice: (line: string) => void }

/** Tells the processes of the gateway what a command has changed, where they share a Redis. */
async function tell(
  announced: readonly Announcement[],
  { config: { redisKeyPrefix: keyPrefix, limits }, secrets: { redisUrl: url }, notice }: Told,
): Promise<void> {
  if (announced.length === 0 || url === undefined) return
  const nothing = () => undefined
  const events = { redisLost: nothing, redisBack: nothing, redisRefused: nothing }
  try {
    const redis = await openRedis({ url, keyPrefix, limits, events })
    await announceOnce(redis, announced).finally(redis.close)
  } catch {
    notice(
      'Redis does not answer: running gateways find the change out by themselves, in a second.',
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
