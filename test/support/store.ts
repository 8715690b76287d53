import { loadConfig } from '../../src/settings/config.ts'
import { guardStore, type GuardedStore, type StoreEvents } from '../../src/storage/store-guard.ts'
import { openStore } from '../../src/storage/open-store.ts'
import type { Store } from '../../src/storage/store.ts'
import { databaseOf } from './each-store.ts'

type Changed = Partial<ReturnType<typeof loadConfig>['config']['limits']>

const configOf = (dataDir: string, durability: 'normal' | 'full', changed: Changed = {}) => {
  const { config } = loadConfig({ DATA_DIR: dataDir })
  return { dataDir, durability, limits: { ...config.limits, ...changed } }
}

/** Opens the store of a folder with the limits of the settings; `notices` collects its warnings. */
export function openTestStore(
  dataDir: string,
  durability: 'normal' | 'full' = 'normal',
  limits: Changed = {},
  notices: string[] = [],
): Promise<Store> {
  return open(configOf(dataDir, durability, limits), notices)
}

async function open(config: ReturnType<typeof configOf>, notices: string[] = []): Promise<Store> {
  const databaseUrl = await databaseOf(config.dataDir)
  return openStore(config, { databaseUrl }, (sentence) => void notices.push(sentence))
}

type GuardOptions = { limits?: Changed; notices?: string[]; durability?: 'normal' | 'full' }

/** Opens a store with its journal; `notices` collects the names of its events. */
export async function openGuardedStore(
  dataDir: string,
  { limits = {}, notices = [], durability = 'normal' }: GuardOptions = {},
): Promise<GuardedStore> {
  const config = configOf(dataDir, durability, limits)
  const events: StoreEvents = {
    storeFailed: ({ reason }) => void notices.push(reason),
    storeRecovered: (rows) => void notices.push(`recovered ${rows}`),
    rowRefused: (_row, { message }) => void notices.push(message),
  }
  const monotonic = () => performance.now()
  return guardStore({ store: await open(config), config, monotonic, events })
}
