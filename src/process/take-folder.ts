import { readVariables, type Loaded } from '../settings/config.ts'
import { recordStart } from '../settings/start-record.ts'
import { serveFolder, type ServedFolder } from '../storage/folder-lock.ts'
import { makeFolder } from '../storage/folder.ts'

/** Long enough for an idle predecessor to stop; if the predecessor drains longer, the start fails. */
const waitMs = 10_000

/**
 * Locks the folder of the embedded store, which one gateway serves at a time, and records the start for commands.
 * Throws a StoreError.
 */
export async function takeFolder(
  { config: { dataDir }, secrets }: Loaded,
  onWait: (text: string) => void,
): Promise<ServedFolder | undefined> {
  if (secrets.databaseUrl !== undefined) {
    // DATA_DIR, which holds the journal, may be missing until something is written.
    recordStart(dataDir, readVariables())
    return undefined
  }
  makeFolder(dataDir)
  const folder = await serveFolder({ dataDir, waitMs, onWait })
  recordStart(dataDir, readVariables())
  return folder
}
