import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Kysely } from 'kysely'
import { systemReason } from '../../core/words/system-reason.ts'
import { makeFile, makeFolder } from '../folder.ts'
import { changeFolder } from '../folder-lock.ts'
import { integersPlugin } from '../integers.ts'
import { migrate } from '../migrations.ts'
import { openSqlite } from '../sqlite.ts'
import { StoreError, toStoreError } from '../store-error.ts'
import { storePath } from '../store.ts'
import type { Tables } from '../tables.ts'
import { fillStore, type Filled } from './import-rows.ts'
import { replaceStore } from './replace-store.ts'
import { checkStoreFile } from './store-file.ts'

type Options = { dataDir: string; file: string }

/** What was imported; `replaced` has the store without accounts that was there. */
export type Imported = Filled & { file: string; replaced: string | null }

/**
 * Makes the store of a folder from an export; all of it, or nothing. The folder has none yet, or one
 * without accounts. Throws a StoreError.
 */
export async function importIntoFolder({ dataDir, ...options }: Options): Promise<Imported> {
  const file = resolve(options.file)
  makeFolder(dataDir)
  const lock = await changeFolder(dataDir, 'import')
  // What a killed one has left is nobody's: the folder is ours.
  const folder = join(dataDir, 'importing')
  try {
    assertEmpty(dataDir)
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { mode: 0o700 })
    const path = storePath(folder)
    makeFile(path)
    const filled = await makeStore(path, file)
    checkStoreFile(path, 'The store that was imported')
    return { ...filled, file, replaced: replaceStore(dataDir, path) ?? null }
  } catch (error) {
    throw untold(error, file, dataDir)
  } finally {
    rmSync(folder, { recursive: true, force: true })
    lock.release()
  }
}

function assertEmpty(dataDir: string): void {
  const path = storePath(dataDir)
  if (!existsSync(path)) return
  const { accounts, calls } = checkStoreFile(path, path)
  if (accounts === 0 && calls === 0) return
  throw new StoreError(
    `DATA_DIR: ${dataDir} has a store already (accounts: ${accounts}, calls: ${calls}), and an import fills an empty one. Set DATA_DIR to another folder, or move this one away.`,
  )
}

const busyTimeoutMs = 5000

async function makeStore(path: string, file: string): Promise<Filled> {
  const options = { path, durability: 'normal', busyTimeoutMs, queueMax: 100 } as const
  const { dialect } = openSqlite(options)
  const db = new Kysely<Tables>({ dialect, plugins: [integersPlugin] })
  try {
    // The rows are of the schema that they were exported with.
    const onHead = ({ schema }: { schema: string }) => migrate(db, 'sqlite', schema)
    return await fillStore({ file, db, onHead, onEnd: () => migrate(db, 'sqlite') })
  } finally {
    // The last connection takes the log into the file.
    await db.destroy()
  }
}

function untold(error: unknown, file: string, dataDir: string): unknown {
  if (error instanceof StoreError && error.errcode === undefined) return error
  const { errcode, told, concernsRow, concernsStatement, message } = toStoreError(error)
  if (concernsRow || concernsStatement)
    return new StoreError(`${file} has rows that no store holds: ${message}. Nothing was imported.`)
  const reason = errcode === undefined ? systemReason(error) : told.reason
  const remedy = 'Make room there, and let this user write to it.'
  return new StoreError(`${file} cannot be imported into ${dataDir}: ${reason}. ${remedy}`)
}
