import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeFile } from './folder.ts'
import { StoreError, toStoreError } from './store-error.ts'

/**
 * A lock of this process on DATA_DIR (docs/storage.md#one-gateway-a-folder). The operating system
 * releases it when the process ends, even after a crash.
 */
type FolderLock = { release(): void }

/** Work that needs the folder exclusively. */
type Change = 'restore' | 'import' | 'migrate'
/** The process that holds the folder, as `gateway.holder` describes it. */
type Holder = {
  work: 'gateway' | Change
  host: string
  process: number
  since: string
  address?: string
}
/** The lock of a gateway; `listensAt` records its address for commands. */
export type ServedFolder = FolderLock & { listensAt(address: string): void }

/**
 * SQLite's locks on an empty file. Many processes may use the folder, one of them may serve requests, and a
 * change needs the folder exclusively.
 */
const begins = {
  use: 'BEGIN; SELECT count(*) FROM sqlite_schema',
  serve: 'BEGIN IMMEDIATE',
  change: 'BEGIN EXCLUSIVE',
}

const attemptPauseMs = 50
/** How long commands wait for the lock: most commands end within this time. */
const othersWaitMs = 500

/** Acquires a shared lock for this process. Throws a StoreError during a restore, import or migration. */
export async function useFolder(dataDir: string): Promise<FolderLock> {
  const lock = await lockWithin(othersWaitMs, () => tryLock(dataDir, 'use'))
  if (lock !== undefined) return lock
  const who = holderText(holderOf(dataDir)) ?? 'another process changes the folder'
  throw new StoreError(`DATA_DIR: ${dataDir} is in use: ${who}. Wait until it has ended.`)
}

type Serving = {
  dataDir: string
  waitMs: number
  /** Called once if another gateway holds the folder. */
  onWait: (text: string) => void
}

/**
 * Acquires the folder for serving requests, which one process may do at a time. Call `release` when
 * the port closes. Throws a StoreError if another gateway does not stop in time.
 */
export async function serveFolder({ dataDir, waitMs, onWait }: Serving): Promise<ServedFolder> {
  let isReported = false
  const lock = await lockWithin(waitMs, () => {
    const found = tryLock(dataDir, 'serve')
    if (found !== undefined || isReported) return found
    isReported = true
    const who = holderText(holderOf(dataDir)) ?? 'another process uses it'
    onWait(`Waiting up to ${waitMs} ms for DATA_DIR ${dataDir}: ${who}.`)
    return undefined
  })
  if (lock !== undefined) return servedFolder(dataDir, 'gateway', lock)
  const holder = holderOf(dataDir)
  const who = holderText(holder) ?? 'another gateway uses it'
  const remedy =
    holder?.work === 'gateway' || holder === undefined
      ? 'Stop that gateway, or set DATA_DIR to another folder'
      : 'Wait until it has ended'
  const more = 'To share a store, set WORKERS on one machine, or DATABASE_URL.'
  throw new StoreError(`DATA_DIR: ${dataDir} is in use: ${who}. ${remedy}. ${more}`)
}

/** The address of the running gateway that serves the folder; undefined if no gateway does. */
export function servedAt(dataDir: string): string | undefined {
  const idle = tryLock(dataDir, 'serve')
  idle?.release()
  // If the lock is free, a killed process left the file that describes the holder.
  return idle === undefined ? holderOf(dataDir)?.address : undefined
}

/** Acquires the folder exclusively. Throws a StoreError while another process uses it. */
export async function changeFolder(dataDir: string, work: Change): Promise<FolderLock> {
  const lock = await lockWithin(othersWaitMs, () => tryLock(dataDir, 'change'))
  if (lock !== undefined) return servedFolder(dataDir, work, lock)
  const idle = tryLock(dataDir, 'serve')
  idle?.release()
  const users = 'a command or a gateway that is stopping has its store open'
  const serving = () => holderText(holderOf(dataDir)) ?? 'a gateway uses it'
  const who = idle === undefined ? serving() : users
  const remedy = idle === undefined ? 'Stop it first' : 'Try again when it has ended'
  throw new StoreError(`DATA_DIR: ${dataDir} is in use: ${who}. ${remedy}.`)
}

async function lockWithin(
  waitMs: number,
  attempt: () => FolderLock | undefined,
): Promise<FolderLock | undefined> {
  const until = performance.now() + waitMs
  for (;;) {
    const lock = attempt()
    if (lock !== undefined || performance.now() >= until) return lock
    await sleep(attemptPauseMs)
  }
}

/** Acquires a lock; undefined if another process holds it. Throws a StoreError if locking fails. */
function tryLock(dataDir: string, kind: keyof typeof begins): FolderLock | undefined {
  const path = join(dataDir, 'gateway.lock')
  makeFile(path)
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path)
    // No journal file: the next process would need an exclusive lock to roll back one left by a killed process.
    database.exec(`PRAGMA journal_mode = MEMORY; ${begins[kind]}`)
  } catch (thrown) {
    database?.close()
    const error = toStoreError(thrown)
    if (error.isBusy) return undefined
    const { reason } = error.diagnosis
    const remedy = 'Let this user write to it, on a file system that supports locks.'
    throw new StoreError(`DATA_DIR: ${path} cannot be locked: ${reason}. ${remedy}`, error.errcode)
  }
  // `release` references the connection, which keeps it from being garbage-collected with its lock.
  return {
    release: () => {
      if (database.isOpen) database.close()
    },
  }
}

/** Adds a file to the lock that describes its holder to other processes. */
function servedFolder(dataDir: string, work: Holder['work'], lock: FolderLock): ServedFolder {
  const path = holderPath(dataDir)
  const since = new Date().toISOString()
  const holder: Holder = { work, host: hostname(), process: process.pid, since }
  const write = (change: () => void) => {
    try {
      change()
    } catch {
      // On a full disk the file is not written, and messages omit the holder.
    }
  }
  const print = (described: Holder) =>
    write(() => writeFileSync(path, `${JSON.stringify(described)}\n`, { mode: 0o600 }))
  print(holder)
  let isHeld = true
  return {
    listensAt: (address) => {
      if (isHeld) print({ ...holder, address })
    },
    release: () => {
      if (!isHeld) return
      isHeld = false
      write(() => rmSync(path, { force: true }))
      lock.release()
    },
  }
}

const holderPath = (dataDir: string) => join(dataDir, 'gateway.holder')

function holderOf(dataDir: string): Holder | undefined {
  try {
    // Only `held` writes this file; without valid content the holder is unknown.
    return JSON.parse(readFileSync(holderPath(dataDir), 'utf8')) as Holder
  } catch {
    return undefined
  }
}

const works: Record<Holder['work'], string> = {
  gateway: 'a running gateway uses it',
  restore: 'a backup is being restored into it',
  import: 'an export is being imported into it',
  migrate: 'its store is being migrated',
}

function holderText(holder: Holder | undefined): string | undefined {
  if (holder === undefined) return undefined
  const { work, host, process: id, since } = holder
  return `${works[work]} (process ${id} on ${host}, since ${since})`
}
