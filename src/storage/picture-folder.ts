import { writeFileSync } from 'node:fs'
import { access, constants, mkdir, readFile, rm, statfs, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { systemReason } from '../core/words/system-reason.ts'

/**
 * Where the encrypted contents of pictures are: a folder, or a bucket. An error names the remedy for the operator,
 * and contains no secret.
 */
export type PicturePlace = {
  /** The place, for the operator; without secrets. */
  name: string
  /** Throws if no content can be written at the moment. */
  check(): Promise<void>
  /** Resolves when the content is durable. */
  write(place: string, content: Uint8Array): Promise<void>
  /** At most `bytesMax` bytes, or undefined if there is no such content. */
  read(place: string, bytesMax: number): Promise<Buffer | undefined>
  /** Succeeds if there is no such content. */
  remove(place: string): Promise<void>
  close(): Promise<void>
}

/** Such contents are written on the event loop. */
const smallBytes = 64 * 1024
const mode = 0o600
/** Room for the largest picture, with its rows in the store. */
const freeBytesMin = 128 * 1024 * 1024
type Options = { dataDir: string; durability: 'normal' | 'full' }

/** Names of contents: other texts are no names, and cannot lead out of the folder. */
const namePattern = /^[0-9a-f]{32}$/

/** The folder of pictures in `dataDir`, which all processes of an embedded store share. */
export function createPictureFolder({ dataDir, durability }: Options): PicturePlace {
  const folder = join(dataDir, 'pictures')
  const pathOf = (place: string) => {
    if (!namePattern.test(place)) throw new TypeError('not the name of a content')
    return join(folder, place.slice(0, 2), place)
  }
  const failure = (cause: unknown) =>
    new Error(
      `The folder ${folder} cannot be used: ${systemReason(cause)}. Give this user the right to write it, and free space on its disk.`,
      { cause },
    )
  return {
    name: folder,
    check: async () => {
      try {
        await mkdirs(folder)
        await access(folder, constants.W_OK | constants.X_OK)
        const { bavail, bsize } = await statfs(folder)
        if (bavail * bsize < freeBytesMin)
          throw Object.assign(new Error('full'), { code: 'ENOSPC' })
      } catch (error) {
        throw failure(error)
      }
    },
    write: async (place, content) => {
      const path = pathOf(place)
      // No row names the content before it is complete, so that nothing reads a part of it.
      const flush = durability === 'full'
      const write = async () => {
        // This only copies it into the page cache, as a commit does, which costs less than a thread.
        if (content.length <= smallBytes && !flush) writeFileSync(path, content, { mode })
        else await writeFile(path, content, { mode, flush })
      }
      try {
        await write().catch(async (error: NodeJS.ErrnoException) => {
          if (error.code !== 'ENOENT') throw error
          await mkdirs(dirname(path))
          await write()
        })
      } catch (error) {
        await rm(path, { force: true }).catch(() => undefined)
        throw failure(error)
      }
    },
    read: async (place, bytesMax) => {
      try {
        const content = await readFile(pathOf(place))
        return content.length > bytesMax ? undefined : content
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw failure(error)
      }
    },
    remove: async (place) => {
      await rm(pathOf(place), { force: true }).catch((error: unknown) => {
        throw failure(error)
      })
    },
    close: async () => undefined,
  }
}

/** `DATA_DIR` exists, since the store is in it. */
async function mkdirs(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
}
