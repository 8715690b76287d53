import { open, readdir, rename, stat, unlink, type FileHandle } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, join } from 'node:path'
import { crc32 } from 'node:zlib'
import { isRunning } from './process-name.ts'

/**
 * A file with room that is taken in advance, for rows that the store cannot take now: a full disk
 * has no room for new ones (docs/storage.md#journal). It belongs to one process.
 */
export type Journal = {
  /** Resolves with whether the records are kept: all of them, or none. */
  append(records: readonly unknown[]): Promise<boolean>
  /** The records from a position on, and the position behind them. */
  read(from: number): Promise<{ records: unknown[]; end: number }>
  /** Forgets all records, unless some were added behind the position; resolves with whether it did. */
  clear(end: number): Promise<boolean>
  /** Makes the file anew where it is gone; one that holds records is only not written to any more. */
  look(): Promise<void>
  close(): Promise<void>
}

type Options = {
  folder: string
  bytesMax: number
  /** Whether each record waits for the disk. */
  flushes: boolean
}

const prefix = 'gateway.journal-'
/** Whether a file of that name is a journal. */
export const isJournal = (name: string): boolean => name.startsWith(prefix)

const pieceBytes = 65_536
const strangeAgeMs = 60_000

/**
 * Opens the journal of this process. It takes over that of a process which has ended, with what is
 * in it; further ones are left for later starts.
 */
export async function openJournal({ folder, bytesMax, flushes }: Options): Promise<Journal> {
  const path = join(folder, `${prefix}${hostname()}-${process.pid}`)
  let file = bytesMax === 0 ? undefined : await takeOver(folder, path)
  let room = file === undefined ? 0 : (await file.stat()).size
  let used = file === undefined ? 0 : (await records(file, 0, room)).end
  let last: Promise<unknown> = Promise.resolve()

  /** One after the other, so that there is never a gap between records. */
  const inTurn = <T>(run: () => Promise<T>): Promise<T> => {
    const next = last.then(run)
    last = next.catch(() => undefined)
    return next
  }
  const write = async (to: FileHandle, bytes: Buffer, at: number) => {
    await to.write(bytes, 0, bytes.length, at)
    if (flushes) await to.datasync()
  }
  const make = async () => {
    file = await create(path, bytesMax)
    used = 0
    room = bytesMax
  }

  if (file === undefined && bytesMax > 0) await make().catch(() => undefined)
  return {
    append: (added) =>
      inTurn(async () => {
        const bytes = Buffer.from(added.map(lineOf).join(''))
        if (used + bytes.length > room || file === undefined || !(await isAt(path, file))) {
          return false
        }
        try {
          await write(file, bytes, used)
        } catch {
          return false
        }
        used += bytes.length
        return true
      }),
    read: (from) => inTurn(async () => (file === undefined ? nothing : records(file, from, used))),
    clear: (end) =>
      inTurn(async () => {
        if (end !== used) return false
        // What another process has taken over is not ours to change.
        if (file !== undefined && (await isAt(path, file))) await write(file, Buffer.alloc(used), 0)
        used = 0
        return true
      }),
    look: () =>
      inTurn(async () => {
        if (bytesMax === 0) return
        if (used > 0 || (file !== undefined && (await isAt(path, file)))) return
        await file?.close()
        file = undefined
        await make().catch(() => undefined)
      }),
    close: () =>
      inTurn(async () => {
        const isOurs = file !== undefined && (await isAt(path, file))
        await file?.close()
        file = undefined
        if (used === 0 && isOurs) await unlink(path)
      }),
  }
}

/** What is in all journals of a folder, whoever they belong to; nothing is changed. */
export async function journaled(folder: string): Promise<unknown[]> {
  const names = (await readdir(folder)).filter(isJournal)
  const found = await Promise.all(
    names.map(async (name) => {
      const file = await open(join(folder, name), 'r')
      try {
        return (await records(file, 0, (await file.stat()).size)).records
      } finally {
        await file.close()
      }
    }),
  )
  return found.flat()
}

const nothing = { records: [], end: 0 }

/** The first journal whose process has ended, under a new name. */
async function takeOver(folder: string, path: string): Promise<FileHandle | undefined> {
  for (const name of await readdir(folder)) {
    const found = join(folder, name)
    if (!isJournal(name) || (await isInUse(found))) continue
    try {
      await rename(found, path)
      return await open(path, 'r+')
    } catch {
      // Another process that starts now was faster.
    }
  }
  return undefined
}

/**
 * Whether the process of a journal may be running. Of one in another container only the time tells.
 * To be wrong is harmless: its process makes a new one, and rows that both replay are kept once.
 */
async function isInUse(path: string): Promise<boolean> {
  const [, host, pid] = /^(.*)-(\d+)$/.exec(basename(path).slice(prefix.length)) ?? []
  if (host !== hostname()) {
    const { mtimeMs } = await stat(path)
    return Date.now() - mtimeMs < strangeAgeMs
  }
  return Number(pid) !== process.pid && isRunning(Number(pid))
}

async function create(path: string, bytes: number): Promise<FileHandle> {
  const file = await open(path, 'w+', 0o600)
  try {
    const zeros = Buffer.alloc(pieceBytes)
    for (let at = 0; at < bytes; at += pieceBytes) {
      await file.write(zeros, 0, Math.min(pieceBytes, bytes - at), at)
    }
    await file.datasync()
    return file
  } catch (error) {
    await file.close()
    await unlink(path)
    throw error
  }
}

async function isAt(path: string, file: FileHandle): Promise<boolean> {
  try {
    const [there, open] = await Promise.all([stat(path), file.stat()])
    return there.ino === open.ino && there.dev === open.dev
  } catch {
    return false
  }
}

/** A line: checksum, blank, JSON. What follows the last whole one was never acknowledged. */
function lineOf(record: unknown): string {
  const text = JSON.stringify(record)
  return `${crc32(text).toString(16).padStart(8, '0')} ${text}\n`
}

async function records(file: FileHandle, from: number, to: number) {
  const bytes = Buffer.alloc(to - from)
  const { bytesRead } = await file.read(bytes, 0, bytes.length, from)
  const found: unknown[] = []
  let at = 0
  for (;;) {
    const end = bytes.subarray(0, bytesRead).indexOf(0x0a, at)
    if (end === -1) break
    const line = bytes.toString('utf8', at, end)
    const text = line.slice(9)
    if (crc32(text) !== Number.parseInt(line.slice(0, 8), 16)) break
    found.push(JSON.parse(text))
    at = end + 1
  }
  return { records: found, end: from + at }
}
