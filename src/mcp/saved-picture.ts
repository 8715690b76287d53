import { createHmac, timingSafeEqual } from 'node:crypto'
import { constants, type BigIntStats } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'

/** The length of a key for `createSavedPictures`. */
export const savedPicturesKeyBytes = 32

/** What tells a file from any other that has its name at another time. */
export type SavedFile = Pick<BigIntStats, 'ino' | 'size' | 'mtimeNs'>

type SavedPictures = {
  /** How the account for which a file was saved names it to a tool: `saved:<seal>:<name>`. */
  handleOf(accountId: string, name: string, file: SavedFile): string
  /**
   * Opens a file for the account that it was saved for, following no link; undefined for any other
   * account, for a file that was changed since, and for one that is gone or cannot be read.
   */
  open(accountId: string, handle: string): Promise<FileHandle | undefined>
}

const sealCharacters = 22
const pattern = new RegExp(`^saved:([\\w-]{${sealCharacters}}):([^/\\\\\\0]{1,255})$`, 'u')

/** Whether an address is the handle of a saved picture, whoever made it. */
export function isHandle(address: string): boolean {
  return address.startsWith('saved:')
}

/**
 * Names of saved files can be guessed, and a folder is shared by all accounts: a handle proves that
 * the gateway has saved the file for the account. Any process of the gateway can check it.
 */
export function createSavedPictures(folder: string, key: Buffer): SavedPictures {
  const sealOf = (accountId: string, name: string, { ino, size, mtimeNs }: SavedFile): string => {
    const sealed = JSON.stringify([accountId, name, String(ino), String(size), String(mtimeNs)])
    return createHmac('sha256', key).update(sealed).digest('base64url').slice(0, sealCharacters)
  }
  return {
    handleOf: (accountId, name, file) => `saved:${sealOf(accountId, name, file)}:${name}`,
    open: async (accountId, handle) => {
      const [, seal, name] = pattern.exec(handle) ?? []
      if (seal === undefined || name === undefined || name === '..' || name === '.')
        return undefined
      // A pipe would keep the opening waiting.
      const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
      const file = await open(join(folder, name), flags).catch(() => undefined)
      if (file === undefined) return undefined
      const stats = await file.stat({ bigint: true }).catch(() => undefined)
      const own = stats?.isFile() ? sealOf(accountId, name, stats) : undefined
      if (own !== undefined && timingSafeEqual(Buffer.from(own), Buffer.from(seal))) return file
      await file.close()
      return undefined
    },
  }
}
