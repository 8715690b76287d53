import { rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { systemReason } from '../../core/words/system-reason.ts'
import { makeFile, makeFolder } from '../folder.ts'
import { changeFolder } from '../folder-lock.ts'
import { StoreError, toStoreError } from '../store-error.ts'
import { replaceStore } from './replace-store.ts'
import { checkStoreFile, copyStore, type Contents } from './store-file.ts'

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
    throw untold(error, file, dataDir)
  } finally {
    rmSync(part, { force: true })
    lock.release()
  }
}

function untold(error: unknown, file: string, dataDir: string): unknown {
  if (error instanceof StoreError && error.errcode === undefined) return error
  const { errcode, told } = toStoreError(error)
  const reason = errcode === undefined ? systemReason(error) : told.reason
  const remedy = 'Make room there, and let this user write to it.'
  return new StoreError(`${file} cannot be restored into ${dataDir}: ${reason}. ${remedy}`)
}
