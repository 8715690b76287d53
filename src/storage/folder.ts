import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { systemReason } from '../core/words/system-reason.ts'
import { StoreError } from './store-error.ts'

/** Creates the folder if it is missing. Throws a StoreError if it cannot be created or written to. */
export function makeFolder(dataDir: string): void {
  try {
    makeAll(dataDir)
    accessSync(dataDir, constants.W_OK)
  } catch (cause) {
    const message = `DATA_DIR: ${dataDir} cannot hold the store: ${systemReason(cause)}. Set DATA_DIR to a folder that can be written to.`
    throw new StoreError(message, undefined, { cause })
  }
}

/** Creates an empty file for the store with mode 0600. Returns whether it was created: false if it exists. */
export function makeFile(path: string): boolean {
  try {
    // SQLite creates the store's log with the mode of this file.
    closeSync(openSync(path, 'wx', 0o600))
    return true
  } catch {
    // The file exists, or SQLite will report the error.
    return false
  }
}

/** Replaces mkdir's `recursive`, which never returns for a folder that cannot be created, as in /proc. */
function makeAll(path: string): void {
  const parent = dirname(path)
  if (!existsSync(parent)) makeAll(parent)
  mkdirUnlessFolder(path)
}

function mkdirUnlessFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error
  }
}

/**
 * Removes other users' permissions from the folder and the files of the store; returns one sentence for each
 * path that had such permissions. Skips paths that another user owns.
 */
export function restrictPermissions(dataDir: string): string[] {
  // Windows, which has no `getuid`, has no permissions to remove.
  if (process.getuid === undefined) return []
  const files = readdirSync(dataDir).filter((name) => name.startsWith('gateway.'))
  const paths = [dataDir, ...files.map((name) => join(dataDir, name))]
  return paths.flatMap((path) => closeOne(path, process.getuid!()) ?? [])
}

const sticky = 0o1000

function closeOne(path: string, user: number): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined || (found.mode & 0o077) === 0) return undefined
  if (found.uid !== user)
    return `${path} is open to other users and belongs to another user. Let its owner run chmod go= on it.`
  // A sticky folder such as /tmp is shared by all users.
  if ((found.mode & sticky) !== 0)
    return `${path} is shared by all users. Set DATA_DIR to a folder of the gateway's own.`
  const mode = found.isDirectory() ? 0o700 : 0o600
  try {
    chmodSync(path, mode)
  } catch (error) {
    return `${path} is open to other users, and its mode cannot be changed: ${systemReason(error)}.`
  }
  return `${path} was open to other users; its mode is now 0${mode.toString(8)}.`
}
