import { randomUUID } from 'node:crypto'
import { constants, realpathSync } from 'node:fs'
import { access, link, open, realpath, rm, statfs } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { decodeBase64 } from '../bytes/base64.ts'
import type { CallContext } from '../core/caller.ts'
import { GatewayError, memoryError } from '../core/error.ts'
import type { NamedAddress, Picture } from '../core/image/image.ts'
import { splitName } from './file-name.ts'
import { createSavedPictures, type SavedFile } from './saved-picture.ts'
import { createUploadRoom, type UploadLimits as RoomLimits } from './upload-room.ts'

/** The folder in which pictures are saved. */
export type UploadFolder = {
  /** Throws `overloaded` if no picture can be saved. */
  checkWritable(): Promise<void>
  /**
   * Saves under a name that passed `checkFileName`; returns a sentence with the path and the handle by
   * which the account gives the picture to a tool, or with the failure.
   */
  save(name: string, picture: Picture, accountId: string): Promise<string>
  /** The bytes of a picture that was saved for the caller, by its handle. Throws a GatewayError. */
  read(handle: NamedAddress, call: Pick<CallContext, 'caller' | 'hold'>): Promise<Buffer>
}

type UploadLimits = RoomLimits & { inputImageBytesMax: number }

const namesMax = 1000

/**
 * Writes into this folder only: no symbolic link is followed, no existing file is replaced, and a
 * file gets its whole content at once.
 */
export function createUploadFolder(
  path: string,
  limits: UploadLimits,
  { key, monotonic }: { key: Buffer; monotonic: () => number },
): UploadFolder {
  // The operator may configure a link; a link that replaces the folder later is refused.
  const folder = realpathSync(path)
  const room = createUploadRoom(folder, limits, monotonic)
  const savedPictures = createSavedPictures(folder, key)
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
    save: async (name, picture, accountId) => {
      try {
        await checkPlace()
        const bytes = decodeBase64(picture.base64)
        const taken = await room.take(bytes.length)
        let saved: Written
        try {
          saved = await write(folder, splitName(name, picture.format), bytes)
        } catch (error) {
          taken.giveBack()
          throw error
        }
        taken.keep()
        const handle = savedPictures.handleOf(accountId, basename(saved.path), saved.file)
        return `Saved as ${saved.path}. A tool takes it as the picture '${handle}'.`
      } catch (error) {
        // The picture is paid for, so it is delivered even if it is not saved.
        return `Not saved: ${reasonOf(error)}`
      }
    },
    read: async ({ address, param }, { caller, hold }) => {
      await checkPlace()
      const file = await savedPictures.open(caller.accountId, address)
      if (file === undefined) throw notSaved(param)
      try {
        const { size } = await file.stat()
        if (size > limits.inputImageBytesMax) {
          const text = `An image may have ${limits.inputImageBytesMax} bytes.`
          throw new GatewayError('request_too_large', text, { param })
        }
        // As bytes, as base64, and in what a provider is sent.
        const refusal = hold.takeMore(size * 4)
        if (refusal !== undefined) throw memoryError(refusal)
        return await file.readFile()
      } finally {
        await file.close()
      }
    },
  }
}

type Name = ReturnType<typeof splitName>
type Written = { path: string; file: SavedFile }

async function write(folder: string, name: Name, bytes: Buffer): Promise<Written> {
  const temporary = join(folder, `.${randomUUID()}.tmp`)
  try {
    const file = await open(temporary, 'wx', 0o644)
    let stats: SavedFile
    try {
      await file.writeFile(bytes)
      stats = await file.stat({ bigint: true })
    } finally {
      await file.close()
    }
    return { path: await publish(temporary, folder, name), file: stats }
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

function notSaved(param: string): GatewayError {
  const text =
    'No such picture is saved here for this account. ' +
    'Give it as the result that saved it names it, or as its bytes.'
  return new GatewayError('invalid_value', text, { param })
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
