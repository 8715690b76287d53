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

/** The store of a folder, with the limits of the settings; `told` gets what it notices. */
export function openTestStore(
  dataDir: string,
  durability: 'normal' | 'full' = 'normal',
  limits: Changed = {},
  told: string[] = [],
): Promise<Store> {
  return open(configOf(dataDir, durability, limits), told)
}

async function open(config: ReturnType<typeof configOf>, told: string[] = []): Promise<Store> {
  const databaseUrl = await databaseOf(config.dataDir)
  return openStore(config, { databaseUrl }, (sentence) => void told.push(sentence))
}

type GuardOptions = { limits?: Changed; told?: string[]; durability?: 'normal' | 'full' }

/** The same with its journal; `told` gets the names of its events. */
export async function openGuardedStore(
  dataDir: string,
  { limits = {}, told = [], durability = 'normal' }: GuardOptions = {},
): Promise<GuardedStore> {
  const config = configOf(dataDir, durability, limits)
  const events: StoreEvents = {
    storeFailed: ({ reason }) => void told.push(reason),
    storeRecovered: (rows) => void told.push(`recovered ${rows}`),
    rowRefused: (_row, { message }) => void told.push(message),
  }
  const monotonic = () => performance.now()
  return guardStore({ store: await open(config), config, monotonic, events })
}
