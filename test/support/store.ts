import { openStore, type Store } from '../../src/storage/store.ts'

/** The store of a folder, with the limits of the settings. */
export function openTestStore(
  dataDir: string,
  durability: 'normal' | 'full' = 'normal',
): Promise<Store> {
  return openStore({ dataDir, durability, limits: { storeBusyTimeoutMs: 5000 } })
}
