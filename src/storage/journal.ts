import { open, readdir, rename, stat, unlink, type FileHandle } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, join } from 'node:path'
import { crc32 } from 'node:zlib'
import { isRunning } from './process-name.ts'

/**
 * A file of one process, allocated in advance, for rows that the store cannot insert now: a full disk
 * has no space for a new file (docs/storage.md#journal).
 */
export type Journal = {
  /** Appends all records or none; resolves with whether they were written. */
  append(records: readonly unknown[]): Promise<boolean>
  /** The records from a byte position on, and the position after them. */
  read(from: number): Promise<{ records: unknown[]; end: number }>
  /** Removes all records, unless some were added after `end`; resolves with whether records were removed. */
  clear(end: number): Promise<boolean>
  /**
   * If this journal is empty, takes over the journal of a process that has ended, with its records;
   * resolves with whether it did.
   */
  takeOver(): Promise<boolean>
  /** The number of records. */
  rows(): number
  /** Creates the file again if it was removed, unless records of the old file are still to be read. */
  look(): Promise<void>
  close(): Promise<void>
}

type Options = {
  folder: string
  bytesMax: number
  /** Whether to flush each append to disk. */
  flushes: boolean
}

const prefix = 'gateway.journal-'
/** Whether a file with this name is a journal. */
export const isJournal = (name: string): boolean => name.startsWith(prefix)

const chunkBytes = 65_536
/** A journal of another host that was not written for this time counts as left by a dead process. */
const foreignAgeMs = 60_000

const empty = { bytes: 0, rows: 0 }

/** Opens the journal of this process: that of an ended process with its records, or a new one. */
export async function openJournal({ folder, bytesMax, flushes }: Options): Promise<Journal> {
  const path = join(folder, `${prefix}${hostname()}-${process.pid}`)
  let file: FileHandle | undefined
  let capacity = 0
  let used = empty
  const inTurn = oneAtATime()
  const write = writing(flushes)
  const make = async () => {
    file = await create(path, bytesMax)
    used = empty
    capacity = bytesMax
  }
  const adopt = async (journal: FileHandle) => {
    capacity = (await journal.stat()).size
    const { records: found, end } = await records(journal, 0, capacity)
    used = { bytes: end, rows: found.length }
    file = journal
  }

  const left = bytesMax === 0 ? undefined : await takeOver(folder, path, isLeft)
  if (left !== undefined) await adopt(left)
  else if (bytesMax > 0) await make().catch(() => undefined)
  return {
    append: (added) =>
      inTurn(async () => {
        const bytes = Buffer.from(added.map(lineOf).join(''))
        const fits = used.bytes + bytes.length <= capacity
        if (!fits || file === undefined || !(await isAt(path, file))) return false
        if (!(await succeeds(write(file, bytes, used.bytes)))) return false
        used = { bytes: used.bytes + bytes.length, rows: used.rows + added.length }
        return true
      }),
    read: (from) =>
      inTurn(async () => (file === undefined ? nothing : records(file, from, used.bytes))),
    clear: (end) =>
      inTurn(async () => {
        if (end !== used.bytes) return false
        // Another process may have taken over the file.
        if (file !== undefined && (await isAt(path, file)))
          await write(file, Buffer.alloc(used.bytes), 0)
        used = empty
        return true
      }),
    takeOver: () =>
      inTurn(async () => {
        if (bytesMax === 0 || used.bytes > 0) return false
        const found = await takeAnother(folder, path)
        if (found === undefined) return false
        await file?.close()
        await adopt(found)
        return true
      }),
    rows: () => used.rows,
    look: () =>
      inTurn(async () => {
        if (bytesMax === 0 || used.bytes > 0 || (await isAt(path, file))) return
        await file?.close()
        file = undefined
        await make().catch(() => undefined)
      }),
    close: () =>
      inTurn(async () => {
        const isOurs = await isAt(path, file)
        await file?.close()
        file = undefined
        if (used.bytes === 0 && isOurs) await unlink(path)
      }),
  }
}

/** Reads the records of all journals of a folder without changing them. */
export async function journaled(folder: string): Promise<unknown[]> {
  const names = (await readdir(folder)).filter(isJournal)
  const found = await Promise.all(names.map((name) => recordsAt(join(folder, name))))
  return found.flat()
}

/** Runs tasks one after the other, so that records have no gaps between them. */
function oneAtATime() {
  let last: Promise<unknown> = Promise.resolve()
  return <T>(run: () => Promise<T>): Promise<T> => {
    const next = last.then(run)
    last = next.catch(() => undefined)
    return next
  }
}

function writing(flushes: boolean) {
  return async (to: FileHandle, bytes: Buffer, at: number): Promise<void> => {
    await to.write(bytes, 0, bytes.length, at)
    if (flushes) await to.datasync()
  }
}

function succeeds(work: Promise<void>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  )
}

const nothing = { records: [], end: 0 }

/** Opens the first journal that may be taken over, and renames it to `path`. */
async function takeOver(
  folder: string,
  path: string,
  mayBeTaken: (path: string) => Promise<boolean> | boolean,
): Promise<FileHandle | undefined> {
  for (const name of await readdir(folder)) {
    if (!isJournal(name)) continue
    const found = join(folder, name)
    let file: FileHandle | undefined
    try {
      if (!(await mayBeTaken(found))) continue
      // Opened before the rename: a file that cannot be opened keeps its name.
      file = await open(found, 'r+')
      await rename(found, path)
      return file
    } catch {
      // Another process has taken over the file first.
      await file?.close()
    }
  }
  return undefined
}

function takeAnother(folder: string, path: string): Promise<FileHandle | undefined> {
  const another = (one: string) => one !== path && isLeftWithRows(one)
  // A missing folder is reported by the store.
  return takeOver(folder, path, another).catch(() => undefined)
}

/**
 * Whether the process of a journal has ended; on another host, whether the journal is old. A wrong guess is
 * harmless: the process creates a new journal, and rows that two processes replay are inserted once.
 */
async function isLeft(path: string): Promise<boolean> {
  const [host, pid] = ownerOf(path)
  if (host !== hostname()) return Date.now() - (await stat(path)).mtimeMs >= foreignAgeMs
  return pid === process.pid || !isRunning(pid)
}

/** Ignores empty journals of other hosts, so that running gateways do not keep taking them from each other. */
async function isLeftWithRows(path: string): Promise<boolean> {
  if (!(await isLeft(path))) return false
  return ownerOf(path)[0] === hostname() || (await recordsAt(path)).length > 0
}

function ownerOf(path: string): [host: string | undefined, pid: number] {
  const [, host, pid] = /^(.*)-(\d+)$/.exec(basename(path).slice(prefix.length)) ?? []
  return [host, Number(pid)]
}

async function recordsAt(path: string): Promise<unknown[]> {
  const file = await open(path, 'r')
  try {
    return (await records(file, 0, (await file.stat()).size)).records
  } finally {
    await file.close()
  }
}

async function create(path: string, bytes: number): Promise<FileHandle> {
  const file = await open(path, 'w+', 0o600)
  try {
    const zeros = Buffer.alloc(chunkBytes)
    for (let at = 0; at < bytes; at += chunkBytes) {
      await file.write(zeros, 0, Math.min(chunkBytes, bytes - at), at)
    }
    await file.datasync()
    return file
  } catch (error) {
    await file.close()
    await unlink(path)
    throw error
  }
}

async function isAt(path: string, file: FileHandle | undefined): Promise<boolean> {
  if (file === undefined) return false
  try {
    const [there, open] = await Promise.all([stat(path), file.stat()])
    return there.ino === open.ino && there.dev === open.dev
  } catch {
    return false
  }
}

/** A line: CRC-32, space, JSON. Bytes after the last complete line were never acknowledged. */
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
