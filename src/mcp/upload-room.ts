import { lstat, opendir, rm } from 'node:fs/promises'
import { join } from 'node:path'

export type UploadLimits = { uploadFilesMax: number; uploadBytesMax: number }

/** Room that is taken for a file: it has become one, or not. */
type Taken = { keep: () => void; giveBack: () => void }

/** How much room is left in the upload folder. */
export type UploadRoom = {
  /** Takes room for a file. Throws an Error whose message says what is full. */
  take(bytes: number): Promise<Taken>
}

/** The name under which a file is written before it is whole. */
export const temporaryName = /^\.[0-9a-f-]{36}\.tmp$/

/** A full folder is looked through again no more often: its operator may have made room. */
const lookAgainMs = 1000

type Sum = { files: number; bytes: number }

/**
 * Counts what is in the folder, once at the start and then by what is saved; what others remove is
 * seen when the folder seems full. What a crash has left half written is removed at the start.
 */
export function createUploadRoom(
  folder: string,
  { uploadFilesMax, uploadBytesMax }: UploadLimits,
  monotonic: () => number,
): UploadRoom {
  let held: Sum = { files: 0, bytes: 0 }
  const pending: Sum = { files: 0, bytes: 0 }
  /** What was saved while the folder is looked through, which that may have missed. */
  let meanwhile: Sum = { files: 0, bytes: 0 }
  let lookedAt = 0

  const look = async (): Promise<void> => {
    meanwhile = { files: 0, bytes: 0 }
    try {
      const found = await sumOf(folder, uploadFilesMax)
      held = { files: found.files + meanwhile.files, bytes: found.bytes + meanwhile.bytes }
    } finally {
      lookedAt = monotonic()
    }
  }
  let looking = removeLeftovers(folder).then(look, look)
  // A folder that cannot be read is told to who wants to save there.
  looking.catch(() => undefined)

  const complaint = (bytes: number): string | undefined => {
    const files = held.files + pending.files + 1
    if (files > uploadFilesMax) return `it may hold ${uploadFilesMax} files (upload_files_max)`
    const all = held.bytes + pending.bytes + bytes
    if (all > uploadBytesMax) return `it may hold ${uploadBytesMax} bytes (upload_bytes_max)`
    return undefined
  }
  const lookAgain = (): Promise<void> => {
    if (monotonic() - lookedAt >= lookAgainMs) {
      lookedAt = Infinity
      looking = look()
    }
    return looking
  }
  return {
    take: async (bytes) => {
      await looking.catch(() => (looking = look()))
      if (complaint(bytes) !== undefined) await lookAgain()
      const why = complaint(bytes)
      if (why !== undefined) {
        throw new Error(`the upload folder is full: ${why}. Its operator has to make room.`)
      }
      // Nothing was waited for since the last look at the sums: no two files take the same room.
      add(pending, { files: 1, bytes })
      const end = () => add(pending, { files: -1, bytes: -bytes })
      return {
        keep: () => {
          end()
          for (const sum of [held, meanwhile]) add(sum, { files: 1, bytes })
        },
        giveBack: end,
      }
    },
  }
}

function add(sum: Sum, { files, bytes }: Sum): void {
  sum.files += files
  sum.bytes += bytes
}

/** The files of a folder that are whole; looks at no more than the bound and one. */
async function sumOf(folder: string, filesMax: number): Promise<Sum> {
  const sum = { files: 0, bytes: 0 }
  for await (const { name } of await opendir(folder)) {
    if (temporaryName.test(name)) continue
    if (++sum.files > filesMax) break
    // A file that was removed a moment ago takes no room.
    sum.bytes += (await lstat(join(folder, name)).catch(() => ({ size: 0 }))).size
  }
  return sum
}

async function removeLeftovers(folder: string): Promise<void> {
  for await (const { name } of await opendir(folder)) {
    if (temporaryName.test(name)) await rm(join(folder, name), { force: true })
  }
}
