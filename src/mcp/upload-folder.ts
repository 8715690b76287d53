import { randomUUID } from 'node:crypto'
import { constants, realpathSync } from 'node:fs'
import { access, open, realpath, rename, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { decodeBase64 } from '../bytes/base64.ts'
import { GatewayError } from '../core/error.ts'
import type { Picture } from '../core/image/image.ts'
import { splitName } from './file-name.ts'

/** The folder in which pictures are saved. */
export type UploadFolder = {
  /** Throws `overloaded` if no picture can be saved. */
  checkWritable(): Promise<void>
  /** Saves under a name that passed `checkFileName`; returns a sentence with path or failure. */
  save(name: string, picture: Picture): Promise<string>
}

const namesMax = 1000

/**
 * Writes into this folder only: no symbolic link is followed, no existing file is replaced, and a
 * file gets its whole content at once.
 */
export function createUploadFolder(path: string): UploadFolder {
  // The operator may configure a link; a link that replaces the folder later is refused.
  const folder = realpathSync(path)
  const checkPlace = async () => {
    if ((await realpath(folder)) !== folder) throw new Error('The folder was replaced by a link.')
  }
  return {
    checkWritable: async () => {
      try {
        await checkPlace()
        await access(folder, constants.W_OK | constants.X_OK)
        const { bavail } = await statfs(folder)
        if (bavail === 0) throw new Error('The folder is full.')
      } catch (cause) {
        throw new GatewayError(
          'overloaded',
          'The upload folder of this server cannot be written, so no picture was made. ' +
            'Its operator has to mend UPLOAD_DIR.',
          { cause },
        )
      }
    },
    save: async (name, picture) => {
      try {
        await checkPlace()
        return `Saved as ${await write(folder, name, picture)}.`
      } catch (error) {
        // The picture is paid for, so it is delivered even if it is not saved.
        return `Not saved: ${reasonOf(error)}`
      }
    },
  }
}

async function write(folder: string, name: string, picture: Picture): Promise<string> {
  const temporary = join(folder, `.${randomUUID()}.tmp`)
  try {
    const file = await open(temporary, 'wx', 0o644)
    try {
      await file.writeFile(decodeBase64(picture.base64))
    } finally {
      await file.close()
    }
    const target = await reserve(folder, name, picture)
    await rename(temporary, target)
    return target
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

/** Reserves the first free name, with a counter if needed, by creating an empty file. */
async function reserve(folder: string, name: string, { format }: Picture): Promise<string> {
  const { stem, extension } = splitName(name, format)
  for (let count = 1; count <= namesMax; count++) {
    const target = join(folder, `${stem}${count === 1 ? '' : `-${count}`}${extension}`)
    try {
      // `wx` fails if there is a file or link of that name.
      const file = await open(target, 'wx', 0o644)
      await file.close()
      return target
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
  }
  throw new Error('Too many files have that name.')
}

function reasonOf(error: unknown): string {
  const code = codeOf(error)
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'the upload folder is full.'
  if (code === undefined && error instanceof Error) return error.message
  return `the upload folder cannot be written (${code}).`
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
