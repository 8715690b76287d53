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
  /** Throws a GatewayError while nothing can be saved. */
  checkWritable(): Promise<void>
  /** Saves a picture under a checked name, and says where or why not. */
  save(name: string, picture: Picture): Promise<string>
}

const namesMax = 1000

/**
 * Writes into this folder and nowhere else: no link is followed, no file is replaced, and no file is
 * seen before it is whole.
 */
export function createUploadFolder(path: string): UploadFolder {
  // A link that the operator gave is theirs to choose; one that takes its place later is not.
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
          'The upload folder of this server cannot be written, so no picture was made. Its operator has to mend UPLOAD_DIR.',
          { cause },
        )
      }
    },
    save: async (name, picture) => {
      try {
        await checkPlace()
        return `Saved as ${await write(folder, name, picture)}.`
      } catch (error) {
        // The picture is paid for and delivered all the same.
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

/** Takes the first free name, with a counter where it is taken; the file is ours from then on. */
async function reserve(folder: string, name: string, { format }: Picture): Promise<string> {
  const { stem, extension } = splitName(name, format)
  for (let count = 1; count <= namesMax; count++) {
    const target = join(folder, `${stem}${count === 1 ? '' : `-${count}`}${extension}`)
    try {
      // Exclusive: neither a file nor a link of that name is touched.
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
