import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import { constants, realpathSync, type BigIntStats } from 'node:fs'
import {
  access,
  link,
  lstat,
  open,
  opendir,
  realpath,
  rm,
  statfs,
  type FileHandle,
} from 'node:fs/promises'
import { basename, join } from 'node:path'
import { decodeBase64 } from '../bytes/base64.ts'
import type { CallContext } from '../core/caller.ts'
import { GatewayError, assertTaken } from '../core/error.ts'
import type { NamedAddress, Picture } from '../core/image/image.ts'
import { pictureBytesMax } from '../core/image/picture.ts'
import { splitName, type SplitName } from './file-name.ts'

type Limits = { uploadFilesMax: number; uploadBytesMax: number }

/** Bytes of the key that seals handles. */
export const uploadsKeyBytes = 32

/** The folder in which pictures are saved. */
export type Uploads = ReturnType<typeof createUploads>

/**
 * Writes into this folder only: no symbolic link is followed, no existing file is replaced, and a
 * file appears with its whole content.
 */
export function createUploads(
  path: string,
  limits: Limits,
  { key, monotonic }: { key: Buffer; monotonic: () => number },
) {
  // The operator may configure a link; a link that replaces the folder later is refused.
  const folder = realpathSync(path)
  const saveWithinLimits = createLimitedSave(folder, limits, monotonic)
  const sealOf = createSeal(key)
  const checkPlace = async () => {
    if ((await realpath(folder)) !== folder) throw new Error('The folder was replaced by a link.')
  }
  return {
    /** Throws `overloaded` if the folder cannot be written. */
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
            'Its operator has to correct UPLOAD_DIR.',
          { cause },
        )
      }
    },
    /**
     * Saves under a name that passed `checkFileName`. Returns a sentence with the path and with the handle that
     * the account can pass to a tool as a picture, or a sentence with the reason of a failure.
     */
    save: async (name: string, picture: Picture, accountId: string) => {
      try {
        await checkPlace()
        const bytes = decodeBase64(picture.base64)
        const saved = await saveWithinLimits(splitName(name, picture.format), bytes)
        const savedName = basename(saved.path)
        const handle = `saved:${sealOf(accountId, savedName, saved.file)}:${savedName}`
        return `Saved as ${saved.path}. Pass '${handle}' to a tool to use this picture.`
      } catch (error) {
        // The picture is paid for, so it is delivered even if it is not saved.
        return `Not saved: ${reasonOf(error)}`
      }
    },
    /** The bytes of a picture that was saved for the caller, by its handle. Throws a GatewayError. */
    read: async (
      { address, param }: NamedAddress,
      { caller, memory }: Pick<CallContext, 'caller' | 'memory'>,
    ) => {
      await checkPlace()
      const file = await openSaved(folder, { handle: address, accountId: caller.accountId }, sealOf)
      if (file === undefined) throw notSaved(param)
      try {
        const { size } = await file.stat()
        if (size > pictureBytesMax) {
          const text = `An image may have at most ${pictureBytesMax} bytes; this one has ${size}.`
          throw new GatewayError('request_too_large', text, { param })
        }
        // Memory for the bytes, their base64, and the request to the provider.
        assertTaken(memory.takeMore(size * 4))
        return await file.readFile()
      } finally {
        await file.close()
      }
    },
  }
}

/** Properties of a file that change when another file gets its name. */
type SavedFile = Pick<BigIntStats, 'ino' | 'size' | 'mtimeNs'>
type Saved = { path: string; file: SavedFile }
type SealOf = (accountId: string, name: string, file: SavedFile) => string

const sealCharacters = 22
/** The form of a handle: `saved:<seal>:<name>`. */
const handlePattern = new RegExp(
  `^saved:([\\w-]{${sealCharacters}}):(?!\\.{1,2}$)([^/\\\\\\0]{1,255})$`,
  'u',
)

/** Whether an address has the form of a handle of a saved picture. */
export function isHandle(address: string): boolean {
  return address.startsWith('saved:')
}

/**
 * Names of saved files can be guessed, and all accounts share the folder: the seal of a handle proves
 * that the gateway saved the file for the account. Every process of the gateway can check the seal.
 */
function createSeal(key: Buffer): SealOf {
  return (accountId, name, { ino, size, mtimeNs }) => {
    const sealed = JSON.stringify([accountId, name, String(ino), String(size), String(mtimeNs)])
    return createHmac('sha256', key).update(sealed).digest('base64url').slice(0, sealCharacters)
  }
}

/**
 * Opens a file for the account that it was saved for, without following a link; undefined for any
 * other account, for a file that was changed since, and for one that is missing or unreadable.
 */
async function openSaved(
  folder: string,
  { handle, accountId }: { handle: string; accountId: string },
  sealOf: SealOf,
): Promise<FileHandle | undefined> {
  const [, seal, name] = handlePattern.exec(handle) ?? []
  if (seal === undefined || name === undefined) return undefined
  // Opening a pipe would block without O_NONBLOCK.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const file = await open(join(folder, name), flags).catch(() => undefined)
  if (file === undefined) return undefined
  const stats = await file.stat({ bigint: true }).catch(() => undefined)
  const own = stats?.isFile() ? sealOf(accountId, name, stats) : undefined
  if (own !== undefined && timingSafeEqual(Buffer.from(own), Buffer.from(seal))) return file
  await file.close()
  return undefined
}

function notSaved(param: string): GatewayError {
  const text =
    'No picture of this account is saved under this handle. ' +
    'Copy the handle from the result that saved the picture, or send the picture itself.'
  return new GatewayError('invalid_value', text, { param })
}

/** Pause before the files of a full folder are counted again, since its operator may have removed some. */
const countAgainMs = 1000

type Count = { files: number; bytes: number }

/**
 * Saves one file at a time, so that concurrent calls cannot exceed a limit. The files of the folder are
 * counted once, and again when the folder seems full. Temporary files that a crash left are removed at
 * the start.
 */
function createLimitedSave(folder: string, limits: Limits, monotonic: () => number) {
  const { uploadFilesMax, uploadBytesMax } = limits
  let stored: Count | undefined
  let countedAt = 0
  const count = async (): Promise<Count> => {
    const counted = await countFiles(folder, uploadFilesMax)
    countedAt = monotonic()
    stored = counted
    return counted
  }
  const complaint = ({ files, bytes }: Count, added: number): string | undefined => {
    if (files + 1 > uploadFilesMax) return `it may have at most ${uploadFilesMax} files`
    if (bytes + added <= uploadBytesMax) return undefined
    return `it may have at most ${uploadBytesMax} bytes (upload_bytes_max)`
  }
  const save = async (name: SplitName, bytes: Buffer): Promise<Saved> => {
    let now = stored ?? (await count())
    const mayHaveChanged = monotonic() - countedAt >= countAgainMs
    if (complaint(now, bytes.length) !== undefined && mayHaveChanged) now = await count()
    const why = complaint(now, bytes.length)
    if (why !== undefined) {
      throw new Error(`the upload folder is full: ${why}. Its operator has to remove files.`)
    }
    const saved = await write(folder, name, bytes)
    stored = { files: now.files + 1, bytes: now.bytes + bytes.length }
    return saved
  }
  // Errors are ignored here: the first save counts again, and fails if the folder cannot be read.
  let last: Promise<unknown> = removeTemporaryFiles(folder)
    .then(count)
    .catch(() => undefined)
  return (name: SplitName, bytes: Buffer): Promise<Saved> => {
    const saved = last.then(() => save(name, bytes))
    last = saved.catch(() => undefined)
    return saved
  }
}

/** The name of a file that is not completely written. */
const temporaryName = /^\.[0-9a-f-]{36}\.tmp$/

/** Counts the complete files of a folder; stops after one file above the limit. */
async function countFiles(folder: string, filesMax: number): Promise<Count> {
  const counted = { files: 0, bytes: 0 }
  for await (const { name } of await opendir(folder)) {
    if (temporaryName.test(name)) continue
    if (++counted.files > filesMax) break
    // The file may have been removed after it was listed.
    counted.bytes += (await lstat(join(folder, name)).catch(() => ({ size: 0 }))).size
  }
  return counted
}

async function removeTemporaryFiles(folder: string): Promise<void> {
  for await (const { name } of await opendir(folder)) {
    if (temporaryName.test(name)) await rm(join(folder, name), { force: true })
  }
}

async function write(folder: string, name: SplitName, bytes: Buffer): Promise<Saved> {
  const temporary = join(folder, `.${randomUUID()}.tmp`)
  try {
    const handle = await open(temporary, 'wx', 0o644)
    let file: SavedFile
    try {
      await handle.writeFile(bytes)
      file = await handle.stat({ bigint: true })
    } finally {
      await handle.close()
    }
    return { path: await publish(temporary, folder, name), file }
  } finally {
    await rm(temporary, { force: true })
  }
}

const namesMax = 1000

/** Gives a complete file the first free name, with a counter if needed. */
async function publish(temporary: string, folder: string, name: SplitName): Promise<string> {
  const { stem, extension } = name
  for (let count = 1; count <= namesMax; count++) {
    const target = join(folder, `${stem}${count === 1 ? '' : `-${count}`}${extension}`)
    try {
      // `link` fails where `rename` would replace an existing file.
      await link(temporary, target)
      return target
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
  }
  throw new Error(`${namesMax} files already have that name. Choose another filename.`)
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
