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
import type { JournalRow } from '../replay.ts'
import { StoreError, toStoreError } from '../store-error.ts'
import { damageSuffix } from '../store-files.ts'
import { storePath } from '../store.ts'
import {
  checkStoreFile,
  copyFailure,
  copyStore,
  flush,
  makeWholeFile,
  spaceRemedy,
  writeRemedy,
  type Contents,
} from './store-file.ts'

type BackedUp = Contents & {
  file: string
  /** Rows that were added from journals, and rows of journals that the store refused. */
  journaledRows: number
  refusedRows: number
}

type Options = { dataDir: string; file: string; replaces: boolean }

/**
 * Copies the store of a folder into one file while others write to it: a snapshot, with the rows that
 * wait in journals. The file is checked before it gets its name. Throws a StoreError.
 */
export async function backUp({ dataDir, file, replaces }: Options): Promise<BackedUp> {
  const source = storePath(dataDir)
  if (!existsSync(source)) {
    throw new StoreError(
      `The store ${source} does not exist. Set DATA_DIR to the gateway's folder.`,
    )
  }
  const path = resolve(file)
  const lock = await useFolder(dataDir)
  try {
    return await makeWholeFile({ path, dataDir, replaces }, async (part) => {
      // Journals are read before the copy; rows that are also in the copy are skipped, by their key.
      const rows = await journaled(dataDir)
      copyStore(source, part)
      // Only `insert` writes to a journal, and its records are of this type.
      const added = addRows(part, rows as JournalRow[])
      return { ...checkStoreFile(part, 'The backup'), file: path, ...added }
    })
  } catch (error) {
    throw copyFailure(error, `${source} cannot be copied to ${path}`, writeRemedy)
  } finally {
    lock.release()
  }
}

/** Inserts rows that are missing; the triggers of the store update its sums. */
function addRows(path: string, rows: readonly JournalRow[]) {
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
        const { concernsRow, concernsStatement } = toStoreError(error)
        // The row is invalid, or of a table or column that this store lacks.
        if (!concernsRow && !concernsStatement) throw error
        added.refusedRows++
      }
    }
    return added
  } finally {
    database.close()
  }
}

/** The restored content, and the folder that now holds the replaced store. */
export type Restored = Contents & { file: string; replaced: string | null }

/**
 * Replaces the store of an unused folder with a backup; all of it, or nothing. Throws a StoreError if
 * the file is not an intact store of this version or an older one.
 */
export async function restore(options: { dataDir: string; file: string }): Promise<Restored> {
  const { dataDir } = options
  const file = resolve(options.file)
  const checked = checkStoreFile(file, file)
  makeFolder(dataDir)
  const lock = await changeFolder(dataDir, 'restore')
  // A fixed name is safe: this process holds the folder exclusively.
  const part = join(dataDir, 'gateway.restored')
  try {
    rmSync(part, { force: true })
    makeFile(part)
    copyStore(file, part)
    const contents = checkStoreFile(part, `The copy of ${file}`)
    if (contents.calls !== checked.calls) {
      throw new StoreError(
        `${file} changed while it was read. Restore a file that no program writes to.`,
      )
    }
    return { ...contents, file, replaced: replaceStore(dataDir, part) ?? null }
  } catch (error) {
    throw copyFailure(error, `${file} cannot be restored into ${dataDir}`, spaceRemedy)
  } finally {
    rmSync(part, { force: true })
    lock.release()
  }
}

/**
 * Replaces the store of a folder that this process holds exclusively. The old store is moved to
 * `replaced-<time>`, whose path is returned; undefined if there was none. If the process is killed,
 * the folder holds the old store or the new one.
 */
export function replaceStore(dataDir: string, copyPath: string): string | undefined {
  const path = storePath(dataDir)
  const journals = readdirSync(dataDir).filter(isJournal)
  const isThere = (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0
  const folder = isThere || journals.length > 0 ? makeReplaced(dataDir) : undefined
  if (folder !== undefined && isThere) keepStore(path, folder)
  // SQLite would damage the new file with the log of the old one.
  for (const suffix of [...logSuffixes, damageSuffix]) rmSync(path + suffix, { force: true })
  renameSync(copyPath, path)
  flush(dataDir)
  // The journals are moved last, since they belong to the old store, which is here until the rename above.
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
 * Keeps a store in another folder: as a hard link, or as a copy of all files if a killed process left a
 * write-ahead log.
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
  if (hasLog) checkpointLog(path)
}

function keepFile(path: string, kept: string): void {
  try {
    linkSync(path, kept)
  } catch {
    // Not every file system supports hard links.
    copyFileSync(path, kept, constants.COPYFILE_FICLONE)
  }
}

/** Checkpoints the log into the file, so that the file alone is the store until the file is replaced. */
function checkpointLog(path: string): void {
  try {
    const database = new DatabaseSync(path)
    try {
      // The last connection removes the log when it is closed.
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } finally {
      database.close()
    }
  } catch {
    // The store is damaged; its copy is kept unchanged.
    return
  }
  if (existsSync(`${path}-wal`))
    throw new StoreError(`Another program has ${path} open. Stop it first.`)
}
