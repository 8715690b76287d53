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

/** Throws a StoreError unless the folder is there, or can be made, and can be written to. */
export function makeFolder(dataDir: string): void {
  try {
    makeAll(dataDir)
    accessSync(dataDir, constants.W_OK)
  } catch (cause) {
    const message = `DATA_DIR: ${dataDir} cannot hold the store: ${systemReason(cause)}. Set DATA_DIR to a folder that can be written to.`
    throw new StoreError(message, undefined, { cause })
  }
}

/** Makes an empty file for the store where there is none, which nobody else may read. */
export function makeFile(path: string): void {
  try {
    // SQLite gives its log the same mode.
    closeSync(openSync(path, 'wx', 0o600))
  } catch {
    // It is there, or SQLite will say what is wrong.
  }
}

/** Like `recursive` of Node's, which never ends where a folder cannot be made, as in /proc. */
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
 * Takes the rights of others from the folder and the files of the store; gives a sentence for each
 * that had them. What another user owns is left as it is.
 */
export function closeToOthers(dataDir: string): string[] {
  // Windows has no such rights.
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
    return `${path} is another user's and open to others. Let its owner close it.`
  // A folder such as /tmp is for all.
  if ((found.mode & sticky) !== 0)
    return `${path} is a folder for all. Set DATA_DIR to one of its own.`
  const mode = found.isDirectory() ? 0o700 : 0o600
  try {
    chmodSync(path, mode)
  } catch (error) {
    return `${path} is open to others, and stays so: ${systemReason(error)}.`
  }
  return `${path} was open to others; now its mode is 0${mode.toString(8)}.`
}
