import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeFile } from './folder.ts'
import { StoreError, toStoreError } from './store-error.ts'

/**
 * What this process has of DATA_DIR (docs/storage.md#one-gateway-a-folder). The system takes it back
 * when the process ends, however that comes.
 */
export type FolderLock = { release(): void }

/** What may be done to the folder as a whole. */
type Change = 'restore' | 'import' | 'migrate'
/** Who has the folder, as the file beside the lock says. */
type Holder = {
  work: 'gateway' | Change
  host: string
  process: number
  since: string
  /** Where a gateway is reached, once it listens. */
  address?: string
}
/** The lock of a gateway, which writes down where it is reached. */
export type ServedFolder = FolderLock & { listensAt(address: string): void }

/**
 * SQLite's own locks, on a file that stays empty: many may use the folder, one of them serves, and
 * who changes it is alone.
 */
const begins = {
  use: 'BEGIN; SELECT count(*) FROM sqlite_schema',
  serve: 'BEGIN IMMEDIATE',
  change: 'BEGIN EXCLUSIVE',
}

const attemptPauseMs = 50
/** A command has mostly ended by then. */
const othersWaitMs = 500

/** Says that this process has the store open. Throws a StoreError while the folder is changed. */
export async function useFolder(dataDir: string): Promise<FolderLock> {
  const lock = await lockWithin(othersWaitMs, () => tryLock(dataDir, 'use'))
  if (lock !== undefined) return lock
  const who = holderText(holderOf(dataDir)) ?? 'another process changes the folder'
  throw new StoreError(`DATA_DIR: ${dataDir} is in use: ${who}. Wait until it has ended.`)
}

type Serving = {
  dataDir: string
  /** How long another one may take to stop. */
  waitMs: number
  /** Told once that there is another one. */
  onWait: (text: string) => void
}

/**
 * Says that this process takes requests with the store of the folder, which one process does at a
 * time; `release` is for when its port closes. Throws a StoreError when another one goes on.
 */
export async function serveFolder({ dataDir, waitMs, onWait }: Serving): Promise<ServedFolder> {
  let isTold = false
  const lock = await lockWithin(waitMs, () => {
    const found = tryLock(dataDir, 'serve')
    if (found !== undefined || isTold) return found
    isTold = true
    const who = holderText(holderOf(dataDir)) ?? 'another process has it'
    onWait(`Waits up to ${waitMs} ms for DATA_DIR ${dataDir}: ${who}.`)
    return undefined
  })
  if (lock !== undefined) return held(dataDir, 'gateway', lock)
  const holder = holderOf(dataDir)
  const who = holderText(holder) ?? 'another gateway has it'
  const remedy =
    holder?.work === 'gateway' || holder === undefined
      ? 'Stop that one, or give this one a DATA_DIR of its own'
      : 'Wait until it has ended'
  const more = 'Several gateways of one store need WORKERS on one machine, or DATABASE_URL.'
  throw new StoreError(`DATA_DIR: ${dataDir} is in use: ${who}. ${remedy}. ${more}`)
}

/** The address of the gateway that takes requests with the store of the folder, where one does. */
export function servedAt(dataDir: string): string | undefined {
  const idle = tryLock(dataDir, 'serve')
  idle?.release()
  // A process that was killed leaves its file.
  return idle === undefined ? holderOf(dataDir)?.address : undefined
}

/** Takes the folder for this process alone. Throws a StoreError while others use it. */
export async function changeFolder(dataDir: string, work: Change): Promise<FolderLock> {
  const lock = await lockWithin(othersWaitMs, () => tryLock(dataDir, 'change'))
  if (lock !== undefined) return held(dataDir, work, lock)
  const idle = tryLock(dataDir, 'serve')
  idle?.release()
  const users = 'a command, or a gateway that finishes what it has begun, has its store open'
  const serving = () => holderText(holderOf(dataDir)) ?? 'a gateway has it'
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

/** Throws a StoreError where the folder cannot be locked at all. */
function tryLock(dataDir: string, kind: keyof typeof begins): FolderLock | undefined {
  const path = join(dataDir, 'gateway.lock')
  makeFile(path)
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path)
    // No file of a journal: one that a killed process left would be undone by the next, alone.
    database.exec(`PRAGMA journal_mode = MEMORY; ${begins[kind]}`)
  } catch (thrown) {
    database?.close()
    const error = toStoreError(thrown)
    if (error.isBusy) return undefined
    const { reason } = error.told
    const remedy = 'Give this user the right to write it, on a file system that has locks.'
    throw new StoreError(`DATA_DIR: ${path} cannot be locked: ${reason}. ${remedy}`, error.errcode)
  }
  // The lock is there as long as the connection is: what the functions refer to is not collected.
  return {
    release: () => {
      if (database.isOpen) database.close()
    },
  }
}

/** The same lock, with a file that tells others whose it is. */
function held(dataDir: string, work: Holder['work'], lock: FolderLock): ServedFolder {
  const path = holderPath(dataDir)
  const since = new Date().toISOString()
  const holder: Holder = { work, host: hostname(), process: process.pid, since }
  const write = (change: () => void) => {
    try {
      change()
    } catch {
      // A full disk: others are told less.
    }
  }
  const print = (told: Holder) =>
    write(() => writeFileSync(path, `${JSON.stringify(told)}\n`, { mode: 0o600 }))
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
    // Only `held` writes it; a text that it is not is told as nobody's.
    return JSON.parse(readFileSync(holderPath(dataDir), 'utf8')) as Holder
  } catch {
    return undefined
  }
}

const works: Record<Holder['work'], string> = {
  gateway: 'a gateway takes requests with it',
  restore: 'a backup is restored into it',
  import: 'an export is imported into it',
  migrate: 'its store is migrated',
}

function holderText(holder: Holder | undefined): string | undefined {
  if (holder === undefined) return undefined
  const { work, host, process: id, since } = holder
  return `${works[work]} (process ${id} on ${host}, since ${since})`
}
