import type { BigIntStats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StoreError } from './store-error.ts'

/**
 * Resolves while the files that are open are those at their path. SQLite itself goes on writing to a
 * file that was deleted or moved, and nobody would find the rows. Throws a StoreError.
 */
export type Look = () => Promise<void>

const suffixes = ['', '-wal', '-shm']

/** Takes the files as they are now for those that are open: SQLite keeps them until its end. */
export async function watchFiles(path: string): Promise<Look> {
  const opened = await Promise.all(suffixes.map((suffix) => idOf(path + suffix)))
  return async () => {
    const now = await Promise.all(suffixes.map((suffix) => idOf(path + suffix)))
    const changed = suffixes.find((_suffix, index) => now[index] !== opened[index])
    if (changed === undefined) return
    throw new StoreError(`${path}${changed} was moved, deleted or replaced`, undefined, {
      remedy: `Put the files back into ${dirname(path)} as they were, or restart the gateway.`,
    })
  }
}

async function idOf(path: string): Promise<string | undefined> {
  const found: BigIntStats | undefined = await stat(path, { bigint: true }).catch(() => undefined)
  return found && `${found.dev} ${found.ino}`
}
