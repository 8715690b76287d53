import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { makeFile } from '../folder.ts'
import { isRunning } from '../process-name.ts'
import { StoreError } from '../store-error.ts'
import { flush } from './store-file.ts'

type Options = {
  path: string
  /** The folder of the store, whose files are no place for a copy. */
  dataDir: string
  /** Whether a file that is there may be replaced. */
  replaces: boolean
}

/**
 * Makes a file, which nobody else may read and which gets its name when it is whole: `write` fills
 * another one beside it. Throws a StoreError for a name that cannot be taken, and what `write` throws.
 */
export async function makeWholeFile<T>(
  options: Options,
  write: (part: string) => Promise<T>,
): Promise<T> {
  assertFree(options)
  const { path } = options
  const part = `${path}.part-${process.pid}`
  try {
    removeParts(path)
    makeFile(part)
    const written = await write(part)
    flush(part)
    assertFree(options)
    renameSync(part, path)
    flush(dirname(path))
    return written
  } finally {
    rmSync(part, { force: true })
  }
}

function assertFree({ path, dataDir, replaces }: Options): void {
  const found = statSync(path, { throwIfNoEntry: false })
  const folder = dirname(path)
  if (!existsSync(folder)) throw new StoreError(`There is no folder ${folder}. Make it first.`)
  if (found?.isDirectory() === true)
    throw new StoreError(`${path} is a folder. Name a file that is to be made in it.`)
  const isBeside = existsSync(dataDir) && statSync(folder).ino === statSync(dataDir).ino
  if (isBeside && basename(path).startsWith('gateway.'))
    throw new StoreError(`${path} would be a file of the store itself. Name another file.`)
  if (found !== undefined && !replaces)
    throw new StoreError(`${path} is there already. Name another file, or say --force.`)
}

/** What processes left that were killed. */
function removeParts(path: string): void {
  const prefix = `${basename(path)}.part-`
  for (const name of readdirSync(dirname(path))) {
    const id = name.startsWith(prefix) ? Number(name.slice(prefix.length)) : NaN
    if (id > 0 && !isRunning(id)) rmSync(join(dirname(path), name), { force: true })
  }
}
