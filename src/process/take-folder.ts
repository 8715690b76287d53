import type { Loaded } from '../settings/config.ts'
import { serveFolder, type ServedFolder } from '../storage/folder-lock.ts'
import { makeFolder } from '../storage/folder.ts'

/** Long enough for an idle predecessor to stop; if the predecessor drains longer, the start fails. */
const waitMs = 10_000

/** Locks the folder of the embedded store, which one gateway serves at a time. Throws a StoreError. */
export async function takeFolder(
  { config: { dataDir }, secrets }: Loaded,
  onWait: (text: string) => void,
): Promise<ServedFolder | undefined> {
  if (secrets.databaseUrl !== undefined) return undefined
  makeFolder(dataDir)
  return serveFolder({ dataDir, waitMs, onWait })
}
