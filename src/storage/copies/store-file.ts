import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemReason } from '../../core/words/system-reason.ts'
import { makeFile } from '../folder.ts'
import { applicationId, assertNotNewer } from '../migrations.ts'
import { isRunning } from '../process-name.ts'
import { StoreError, toStoreError } from '../store-error.ts'

/** What a store holds, as it is told of a copy. */
export type Contents = {
  bytes: number
  /** The newest migration that ran on it. */
  schema: string
  accounts: number
  keys: number
  /** Rows of the ledger, the time of the newest, and the sum of what is known of their costs. */
  calls: number
  newestCallAt: number | null
  costNanoUsd: string
}

/**
 * Reads a file that may be a store, as a whole, and changes nothing. Throws a StoreError that begins
 * with `what` for one that is none, is damaged, does not add up, or is newer than the program.
 */
export function checkStoreFile(path: string, what: string): Contents {
  const refuse = (reason: string) => new StoreError(`${what} is no store to be used: ${reason}.`)
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) throw refuse('it is not there')
  if (found.isDirectory()) throw refuse('it is a folder')
  if (found.size === 0) throw refuse('it is empty')
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { readOnly: true })
    const { application_id: id } = one(database, 'PRAGMA application_id')
    const tables = namesIn(database, `SELECT name FROM sqlite_schema WHERE type = 'table'`)
    if ((id !== 0 && id !== applicationId) || !tables.has('kysely_migration'))
      throw refuse('it is the file of another program')
    const damage = database.prepare('PRAGMA integrity_check(1)').get()
    if (damage?.['integrity_check'] !== 'ok')
      throw refuse(`it is damaged (${String(damage?.['integrity_check']).replaceAll(/\s+/g, ' ')})`)
    if (database.prepare('PRAGMA foreign_key_check').get() !== undefined)
      throw refuse('it is damaged (rows of it refer to rows that are not there)')
    const migrations = namesIn(database, 'SELECT name FROM kysely_migration')
    assertNotNewer(migrations, what)
    if (tables.has('usage_hours') && !sumsAgree(database))
      throw refuse('it is damaged (its sums by the hour are not those of its rows)')
    return { bytes: found.size, schema: [...migrations].toSorted().at(-1)!, ...counts(database) }
  } catch (thrown) {
    const error = toStoreError(thrown)
    throw error.errcode === undefined ? error : refuse(error.told.reason)
  } finally {
    database?.close()
  }
}

function counts(database: DatabaseSync): Omit<Contents, 'bytes' | 'schema'> {
  const row = one(
    database,
    `SELECT (SELECT count(*) FROM accounts) accounts, (SELECT count(*) FROM api_keys) keys,
       count(*) calls, max(at) newest, cast(coalesce(sum(cost_nano_usd), 0) AS text) cost FROM usage`,
  )
  const { accounts, keys, calls, newest, cost } = row
  return {
    accounts: Number(accounts),
    keys: Number(keys),
    calls: Number(calls),
    newestCallAt: newest === null ? null : Number(newest),
    costNanoUsd: String(cost),
  }
}

/** Whether each account has in its hours what it has in its rows. */
function sumsAgree(database: DatabaseSync): boolean {
  const sums = 'account_id, mode, sum(calls) calls, sum(cost_nano_usd) cost'
  const rows = `SELECT account_id, mode, 1 calls, coalesce(cost_nano_usd, 0) cost_nano_usd FROM usage`
  const [hours, ledger] = ['usage_hours', `(${rows})`].map(
    (from) => `SELECT ${sums} FROM ${from} GROUP BY account_id, mode`,
  )
  const differing = `SELECT 1 FROM (${hours} EXCEPT ${ledger}) UNION ALL SELECT 1 FROM (${ledger} EXCEPT ${hours})`
  return database.prepare(`${differing} LIMIT 1`).get() === undefined
}

function one(database: DatabaseSync, sql: string) {
  return database.prepare(sql).get()!
}

function namesIn(database: DatabaseSync, sql: string): ReadonlySet<string> {
  return new Set(
    database
      .prepare(sql)
      .all()
      .map(({ name }) => String(name)),
  )
}

/**
 * Copies a store as it is at one moment into an empty file. Unlike SQLite's backup interface this leaves
 * out deleted content, needs no write-ahead log beside the copy, and does not begin again with each commit.
 */
export function copyStore(from: string, to: string): void {
  const database = new DatabaseSync(from, { readOnly: true, timeout: copyWaitMs })
  try {
    database.prepare('VACUUM INTO ?').run(to)
  } finally {
    database.close()
  }
  flush(to)
  flush(dirname(to))
}

const copyWaitMs = 5000

/** Waits until the disk has a file, or the names of a folder. */
export function flush(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } catch {
    // Not every system does that with a folder.
  } finally {
    closeSync(file)
  }
}

/** What helps where a copy cannot be written. */
export const writeRemedy = 'Look whether its disk has room and this user may write there.'
/** The same for a store. */
export const roomRemedy = 'Make room there, and let this user write to it.'

/** The error for the operator: `what` failed, why, and the remedy. A StoreError that says it stays. */
export function copyFailure(error: unknown, what: string, remedy: string): unknown {
  const { errcode, told } = toStoreError(error)
  if (error instanceof StoreError && errcode === undefined) return error
  const reason = errcode === undefined ? systemReason(error) : told.reason
  return new StoreError(`${what}: ${reason}. ${remedy}`)
}

type NewFile = {
  path: string
  /** The folder of the store, whose files are no place for a copy. */
  dataDir: string
  /** Whether a file that is there may be replaced. */
  replaces: boolean
}

/**
 * Makes a file, which nobody else may read and which gets its name when it is whole: `write` fills
 * another one beside it. Throws a StoreError for a name that cannot be taken, and what `write` throws.
 */
export async function makeWholeFile<T>(
  options: NewFile,
  write: (part: string) => Promise<T>,
): Promise<T> {
  assertFree(options)
  const { path } = options
  const part = `${path}.part-${process.pid}`
  try {
    removeParts(path)
    makeFile(part)
    const written = await write(part)
    flush(part)
    assertFree(options)
    renameSync(part, path)
    flush(dirname(path))
    return written
  } finally {
    rmSync(part, { force: true })
  }
}

function assertFree({ path, dataDir, replaces }: NewFile): void {
  const found = statSync(path, { throwIfNoEntry: false })
  const folder = dirname(path)
  if (!existsSync(folder)) throw new StoreError(`There is no folder ${folder}. Make it first.`)
  if (found?.isDirectory() === true)
    throw new StoreError(`${path} is a folder. Name a file that is to be made in it.`)
  const isBeside = existsSync(dataDir) && statSync(folder).ino === statSync(dataDir).ino
  if (isBeside && basename(path).startsWith('gateway.'))
    throw new StoreError(`${path} would be a file of the store itself. Name another file.`)
  if (found !== undefined && !replaces)
    throw new StoreError(`${path} is there already. Name another file, or say --force.`)
}

/** What processes left that were killed. */
function removeParts(path: string): void {
  const prefix = `${basename(path)}.part-`
  for (const name of readdirSync(dirname(path))) {
    const id = name.startsWith(prefix) ? Number(name.slice(prefix.length)) : NaN
    if (id > 0 && !isRunning(id)) rmSync(join(dirname(path), name), { force: true })
  }
}
