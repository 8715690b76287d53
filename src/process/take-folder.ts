import type { Loaded } from '../settings/config.ts'
import { serveFolder, type ServedFolder } from '../storage/folder-lock.ts'
import { makeFolder } from '../storage/folder.ts'

/** Enough for a predecessor that is idle; one that drains takes longer and fails the start. */
const waitMs = 10_000

/** Takes the folder of the embedded store, which one gateway serves at a time. Throws a StoreError. */
export async function takeFolder(
  { config: { dataDir }, secrets }: Loaded,
  onWait: (text: string) => void,
): Promise<ServedFolder | undefined> {
  if (secrets.databaseUrl !== undefined) return undefined
  makeFolder(dataDir)
  return serveFolder({ dataDir, waitMs, onWait })
}
