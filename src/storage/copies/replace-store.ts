import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isJournal } from '../journal.ts'
import { StoreError } from '../store-error.ts'
import { damageSuffix } from '../store-files.ts'
import { storePath } from '../store.ts'
import { flush } from './store-file.ts'

/**
 * Puts a store into the place of the one of a folder, which this process has alone. What was there
 * goes to `replaced-<time>`, whose path is the result; undefined where there was nothing. A process
 * that is killed leaves the one store or the other.
 */
export function replaceStore(dataDir: string, made: string): string | undefined {
  const path = storePath(dataDir)
  const journals = readdirSync(dataDir).filter(isJournal)
  const isThere = (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0
  const folder = isThere || journals.length > 0 ? makeReplaced(dataDir) : undefined
  if (folder !== undefined && isThere) keepStore(path, folder)
  // With the log of another file SQLite would damage this one.
  for (const suffix of [...logSuffixes, damageSuffix]) rmSync(path + suffix, { force: true })
  renameSync(made, path)
  flush(dataDir)
  // Last: until here the store that they belong to is in its place.
  for (const name of journals) renameSync(join(dataDir, name), join(folder!, name))
  return folder
}

const logSuffixes = ['-wal', '-shm']

function makeReplaced(dataDir: string): string {
  const folder = join(dataDir, `replaced-${new Date().toISOString().replaceAll(':', '-')}`)
  mkdirSync(folder, { mode: 0o700 })
  return folder
}

/**
 * Keeps a store in another folder: under a second name, or with a log that a killed process left as a
 * copy of all of its files.
 */
function keepStore(path: string, folder: string): void {
  const hasLog = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0
  for (const suffix of hasLog ? ['', ...logSuffixes] : ['']) {
    if (!existsSync(path + suffix)) continue
    const kept = join(folder, `gateway.db${suffix}`)
    if (hasLog) copyFileSync(path + suffix, kept, constants.COPYFILE_FICLONE)
    else keepFile(path, kept)
    flush(kept)
  }
  flush(folder)
  if (hasLog) takeInLog(path)
}

function keepFile(path: string, kept: string): void {
  try {
    linkSync(path, kept)
  } catch {
    // Not every file system has files of two names.
    copyFileSync(path, kept, constants.COPYFILE_FICLONE)
  }
}

/** Copies the log of a store into its file, so that the file is the store until it is replaced. */
function takeInLog(path: string): void {
  try {
    const database = new DatabaseSync(path)
    try {
      // The last connection removes the log when it is closed.
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } finally {
      database.close()
    }
  } catch {
    // It is damaged, and kept as it was.
    return
  }
  if (existsSync(`${path}-wal`))
    throw new StoreError(`Another program has ${path} open. End it first.`)
}
