import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Kysely } from 'kysely'
import { makeFile } from '../folder.ts'
import { changeFolder, useFolder } from '../folder-lock.ts'
import { openSqlite } from '../sqlite.ts'
import { lacksMigrations, migrateStepwise, type MigrationRun } from '../migrations.ts'
import { StoreError, toStoreError } from '../store-error.ts'
import { assertOpenable } from '../store-files.ts'
import { storePath } from '../store.ts'
import { checkStoreFile, copyStore } from './store-file.ts'

/** The migrations that ran, and the number of ledger rows, which is undefined if no store exists. */
type MigratedFiles = { runs: MigrationRun[]; calls: number | undefined }

/**
 * Migrates the store of an unused folder. With `dryRun` it migrates a copy, and the store may be in use.
 * Compares the ledger before and after. A store that lacks no migration is only opened. Throws a StoreError.
 */
export async function migrateFolder(dataDir: string, dryRun: boolean): Promise<MigratedFiles> {
  const path = storePath(dataDir)
  if (!existsSync(path)) return { runs: [], calls: undefined }
  const lock = dryRun ? await useFolder(dataDir) : await changeFolder(dataDir, 'migrate')
  let folder: string | undefined
  try {
    let lacks = false
    assertOpenable(path, busyTimeoutMs, (ran) => (lacks = lacksMigrations(ran)))
    if (!lacks) return { runs: [], calls: 0 }
    folder = dryRun ? mkdtempSync(join(dataDir, 'trial-')) : undefined
    const before = checkStoreFile(path, path)
    const tried = folder === undefined ? path : storePath(folder)
    if (folder !== undefined) {
      makeFile(tried)
      copyStore(path, tried)
    }
    const runs = await migrateFile(tried)
    const after = checkStoreFile(tried, 'The migrated store')
    if (after.calls !== before.calls || after.costNanoUsd !== before.costNanoUsd)
      throw new StoreError(
        'The migration changed the calls or costs of the ledger. Restore the backup.',
      )
    return { runs, calls: before.calls }
  } catch (error) {
    const { errcode, diagnosis } = toStoreError(error)
    if (errcode === undefined) throw error
    throw new StoreError(`${path} cannot be migrated: ${diagnosis.reason}. ${diagnosis.remedy}`)
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
    lock.release()
  }
}

const busyTimeoutMs = 5000

async function migrateFile(path: string): Promise<MigrationRun[]> {
  const { dialect } = openSqlite({ path, durability: 'full', busyTimeoutMs, queueMax: 100 })
  const db = new Kysely<unknown>({ dialect })
  try {
    return await migrateStepwise({ db, dialect: 'sqlite', keeps: true })
  } finally {
    await db.destroy()
  }
}
