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
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { changeFolder, useFolder } from '../folder-lock.ts'
import { makeFile, makeFolder } from '../folder.ts'
import { isJournal, journaled } from '../journal.ts'
import type { Kept } from '../replay.ts'
import { StoreError, toStoreError } from '../store-error.ts'
import { damageSuffix } from '../store-files.ts'
import { storePath } from '../store.ts'
import {
  checkStoreFile,
  copyFailure,
  copyStore,
  flush,
  makeWholeFile,
  roomRemedy,
  writeRemedy,
  type Contents,
} from './store-file.ts'

/** What a backup holds. */
export type BackedUp = Contents & {
  file: string
  /** Rows of journals that the store did not have yet, and those that it does not take. */
  journaledRows: number
  refusedRows: number
}

type Options = { dataDir: string; file: string; replaces: boolean }

/**
 * Copies the store of a folder into one file while others write to it: as it is at one moment, with
 * what waits in journals. The file is checked before it gets its name. Throws a StoreError.
 */
export async function backUp({ dataDir, file, replaces }: Options): Promise<BackedUp> {
  const source = storePath(dataDir)
  if (!existsSync(source)) {
    throw new StoreError(`There is no store ${source}. Set DATA_DIR to the folder of the gateway.`)
  }
  const path = resolve(file)
  const lock = await useFolder(dataDir)
  try {
    return await makeWholeFile({ path, dataDir, replaces }, async (part) => {
      // Before the copy: a row that comes into the store meanwhile is there once, by its key.
      const rows = await journaled(dataDir)
      copyStore(source, part)
      // `keep` alone writes to a journal.
      const added = addRows(part, rows as Kept[])
      return { ...checkStoreFile(part, 'The backup'), file: path, ...added }
    })
  } catch (error) {
    throw copyFailure(error, `${source} cannot be copied to ${path}`, writeRemedy)
  } finally {
    lock.release()
  }
}

/** Inserts rows that are not there yet, with the triggers of the store. */
function addRows(path: string, rows: readonly Kept[]) {
  const added = { journaledRows: 0, refusedRows: 0 }
  if (rows.length === 0) return added
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: true })
  try {
    for (const [table, row] of rows) {
      const names = Object.keys(row)
      const sql = `INSERT INTO "${table}" (${names.map((name) => `"${name}"`).join(', ')})
        VALUES (${names.map(() => '?').join(', ')}) ON CONFLICT DO NOTHING`
      try {
        added.journaledRows += Number(database.prepare(sql).run(...Object.values(row)).changes)
      } catch (error) {
        if (!isOfRow(toStoreError(error))) throw error
        added.refusedRows++
      }
    }
    return added
  } finally {
    database.close()
  }
}

/** Whether it says that a row does not fit, or is of tables that this store does not have. */
function isOfRow(error: StoreError): boolean {
  return error.concernsRow || error.concernsStatement
}

/** What was restored, and where that is what it replaced. */
export type Restored = Contents & { file: string; replaced: string | null }

/**
 * Puts a backup into the place of the store of a folder that nobody uses; all of it, or nothing.
 * Throws a StoreError for a file that is no whole store of this version or one before.
 */
export async function restore(options: { dataDir: string; file: string }): Promise<Restored> {
  const { dataDir } = options
  const file = resolve(options.file)
  const checked = checkStoreFile(file, file)
  makeFolder(dataDir)
  const lock = await changeFolder(dataDir, 'restore')
  // Nobody else makes one: the folder is ours.
  const part = join(dataDir, 'gateway.restored')
  try {
    rmSync(part, { force: true })
    makeFile(part)
    copyStore(file, part)
    const contents = checkStoreFile(part, `The copy of ${file}`)
    if (contents.calls !== checked.calls) {
      throw new StoreError(
        `${file} was changed while it was read. Restore a file that stays as it is.`,
      )
    }
    return { ...contents, file, replaced: replaceStore(dataDir, part) ?? null }
  } catch (error) {
    throw copyFailure(error, `${file} cannot be restored into ${dataDir}`, roomRemedy)
  } finally {
    rmSync(part, { force: true })
    lock.release()
  }
}

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
