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
  /**
   * Takes over one more journal of a process that has ended, with what is in it, where this one is empty;
   * resolves with whether it did.
   */
  takeOver(): Promise<boolean>
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

/** Opens the journal of this process: that of a process which has ended, with what is in it, or a new one. */
export async function openJournal({ folder, bytesMax, flushes }: Options): Promise<Journal> {
  const path = join(folder, `${prefix}${hostname()}-${process.pid}`)
  let file: FileHandle | undefined
  let room = 0
  let used = 0
  const inTurn = oneAtATime()
  const write = writing(flushes)
  const make = async () => {
    file = await create(path, bytesMax)
    used = 0
    room = bytesMax
  }
  const goOnWith = async (found: FileHandle) => {
    room = (await found.stat()).size
    used = (await records(found, 0, room)).end
    file = found
  }

  const left = bytesMax === 0 ? undefined : await takeOver(folder, path, isLeft)
  if (left !== undefined) await goOnWith(left)
  else if (bytesMax > 0) await make().catch(() => undefined)
  return {
    append: (added) =>
      inTurn(async () => {
        const bytes = Buffer.from(added.map(lineOf).join(''))
        const hasRoom = used + bytes.length <= room
        if (!hasRoom || file === undefined || !(await isAt(path, file))) return false
        if (!(await succeeds(write(file, bytes, used)))) return false
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
    takeOver: () =>
      inTurn(async () => {
        if (bytesMax === 0 || used > 0) return false
        const found = await takeAnother(folder, path)
        if (found === undefined) return false
        await file?.close()
        await goOnWith(found)
        return true
      }),
    look: () =>
      inTurn(async () => {
        if (bytesMax === 0 || used > 0 || (await isAt(path, file))) return
        await file?.close()
        file = undefined
        await make().catch(() => undefined)
      }),
    close: () =>
      inTurn(async () => {
        const isOurs = await isAt(path, file)
        await file?.close()
        file = undefined
        if (used === 0 && isOurs) await unlink(path)
      }),
  }
}

/** What is in all journals of a folder, whoever they belong to; nothing is changed. */
export async function journaled(folder: string): Promise<unknown[]> {
  const names = (await readdir(folder)).filter(isJournal)
  const found = await Promise.all(names.map((name) => recordsAt(join(folder, name))))
  return found.flat()
}

/** Runs tasks one after the other, so that there is never a gap between records. */
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

/** The first journal that may be taken, under a new name. */
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
      // Before it has our name: one that cannot be opened stays what it is.
      file = await open(found, 'r+')
      await rename(found, path)
      return file
    } catch {
      // Another process was faster.
      await file?.close()
    }
  }
  return undefined
}

function takeAnother(folder: string, path: string): Promise<FileHandle | undefined> {
  const another = (one: string) => one !== path && isLeftWithRows(one)
  // A folder that is gone is the store's to tell of.
  return takeOver(folder, path, another).catch(() => undefined)
}

/**
 * Whether the process of a journal has ended. Of one in another container only the time tells.
 * To be wrong is harmless: its process makes a new one, and rows that both replay are kept once.
 */
async function isLeft(path: string): Promise<boolean> {
  const [host, pid] = ownerOf(path)
  if (host !== hostname()) return Date.now() - (await stat(path)).mtimeMs >= strangeAgeMs
  return pid === process.pid || !isRunning(pid)
}

/** Empty ones of others are left, so that gateways that live do not take them from each other all the time. */
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

async function isAt(path: string, file: FileHandle | undefined): Promise<boolean> {
  if (file === undefined) return false
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
