import { randomUUID } from 'node:crypto'
import { constants, realpathSync } from 'node:fs'
import { access, link, open, realpath, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { decodeBase64 } from '../bytes/base64.ts'
import { GatewayError } from '../core/error.ts'
import type { Picture } from '../core/image/image.ts'
import { splitName } from './file-name.ts'
import { createUploadRoom, type UploadLimits } from './upload-room.ts'

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
export function createUploadFolder(
  path: string,
  limits: UploadLimits,
  monotonic: () => number,
): UploadFolder {
  // The operator may configure a link; a link that replaces the folder later is refused.
  const folder = realpathSync(path)
  const room = createUploadRoom(folder, limits, monotonic)
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
        const bytes = decodeBase64(picture.base64)
        const taken = await room.take(bytes.length)
        let saved: string
        try {
          saved = await write(folder, splitName(name, picture.format), bytes)
        } catch (error) {
          taken.giveBack()
          throw error
        }
        taken.keep()
        return `Saved as ${saved}.`
      } catch (error) {
        // The picture is paid for, so it is delivered even if it is not saved.
        return `Not saved: ${reasonOf(error)}`
      }
    },
  }
}

type Name = ReturnType<typeof splitName>

async function write(folder: string, name: Name, bytes: Buffer): Promise<string> {
  const temporary = join(folder, `.${randomUUID()}.tmp`)
  try {
    const file = await open(temporary, 'wx', 0o644)
    try {
      await file.writeFile(bytes)
    } finally {
      await file.close()
    }
    return await publish(temporary, folder, name)
  } finally {
    await rm(temporary, { force: true })
  }
}

/** Gives a whole file the first free name, with a counter if needed. */
async function publish(
  temporary: string,
  folder: string,
  { stem, extension }: Name,
): Promise<string> {
  for (let count = 1; count <= namesMax; count++) {
    const target = join(folder, `${stem}${count === 1 ? '' : `-${count}`}${extension}`)
    try {
      // A rename would replace what has the name; a second name for the file is refused then.
      await link(temporary, target)
      return target
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
  }
  throw new Error('too many files have that name.')
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
