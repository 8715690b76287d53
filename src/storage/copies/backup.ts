import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemReason } from '../../core/words/system-reason.ts'
import { useFolder } from '../folder-lock.ts'
import { journaled } from '../journal.ts'
import type { Kept } from '../replay.ts'
import { StoreError, toStoreError } from '../store-error.ts'
import { storePath } from '../store.ts'
import { makeWholeFile } from './new-file.ts'
import { checkStoreFile, copyStore, type Contents } from './store-file.ts'

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
    throw untold(error, source, path)
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

function untold(error: unknown, source: string, path: string): unknown {
  const isOurs = error instanceof StoreError && error.errcode === undefined
  if (isOurs) return error
  const { errcode } = toStoreError(error)
  const reason = errcode === undefined ? systemReason(error) : toStoreError(error).told.reason
  const remedy = 'Look whether its disk has room and this user may write there.'
  return new StoreError(`${source} cannot be copied to ${path}: ${reason}. ${remedy}`)
}
