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
import { applicationId, assertUsable } from '../migrations.ts'
import { grainRows, isLate } from '../migrations/usage-sums.ts'
import { isRunning } from '../process-name.ts'
import { StoreError, toStoreError } from '../store-error.ts'

/** The content of a store, for the report about a copy. */
export type Contents = {
  bytes: number
  /** The newest migration that ran on the store. */
  schema: string
  accounts: number
  keys: number
  /** Number of ledger rows, time of the newest one, and the sum of the known costs. */
  calls: number
  newestCallAt: number | null
  costNanoUsd: string
}

/**
 * Checks a whole file without changing it. Throws a StoreError that begins with `what` if the file is
 * no store, is damaged, has wrong sums, or is of a version that this one cannot use.
 */
export function checkStoreFile(path: string, what: string): Contents {
  const refuse = (reason: string) => new StoreError(`${what} is not a usable store: ${reason}.`)
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) throw refuse('it does not exist')
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
      throw refuse('it is damaged (rows refer to rows that are missing)')
    const migrations = namesIn(database, 'SELECT name FROM kysely_migration')
    assertUsable(migrations, what)
    if (tables.has('usage_hours') && !sumsAgree(database, tables.has('usage_archives')))
      throw refuse('it is damaged (its hourly sums do not match its rows)')
    if (tables.has('usage_sums') && !daysAgree(database))
      throw refuse('it is damaged (its sums of days and months do not match its hours)')
    return { bytes: found.size, schema: [...migrations].toSorted().at(-1)!, ...counts(database) }
  } catch (thrown) {
    const error = toStoreError(thrown)
    throw error.errcode === undefined ? error : refuse(error.diagnosis.reason)
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

/** Whether the hourly sums of each account match its ledger rows, with those that `archive` removed. */
function sumsAgree(database: DatabaseSync, hasArchives: boolean): boolean {
  const sums = 'account_id, mode, sum(calls) calls, sum(cost_nano_usd) cost'
  const rows = `SELECT account_id, mode, 1 calls, coalesce(cost_nano_usd, 0) cost_nano_usd FROM usage`
  const removed = hasArchives
    ? ' UNION ALL SELECT account_id, mode, calls, cost_nano_usd FROM usage_archives'
    : ''
  const [hours, ledger] = ['usage_hours', `(${rows}${removed})`].map(
    (from) => `SELECT ${sums} FROM ${from} GROUP BY account_id, mode`,
  )
  const differing = `SELECT 1 FROM (${hours} EXCEPT ${ledger}) UNION ALL SELECT 1 FROM (${ledger} EXCEPT ${hours})`
  return database.prepare(`${differing} LIMIT 1`).get() === undefined
}

/** Whether the sums of each account are the same in days and months, in each grain, as in the hours that they include. */
function daysAgree(database: DatabaseSync): boolean {
  const sums = 'sum(calls) calls, sum(cost_nano_usd) cost, sum(input_tokens) tokens'
  const query = `WITH hours AS (SELECT account_id, mode, ${sums} FROM usage_hours WHERE ${isLate('hour_at')} GROUP BY 1, 2)
    SELECT 1 FROM (SELECT account_id, mode, grain, ${sums} FROM usage_sums GROUP BY 1, 2, 3) AS days
    FULL JOIN (SELECT * FROM hours CROSS JOIN (${grainRows}) AS grains) AS hours USING (account_id, mode, grain)
    WHERE (days.calls, days.cost, days.tokens) IS NOT (hours.calls, hours.cost, hours.tokens)
      AND coalesce(days.calls, hours.calls) <> 0 LIMIT 1`
  return database.prepare(query).get() === undefined
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
 * Copies a snapshot of a store into an empty file. Unlike SQLite's backup API, VACUUM INTO omits deleted
 * content, needs no write-ahead log for the copy, and does not restart after each commit.
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

/** Flushes a file, or the entries of a folder, to disk. */
export function flush(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } catch {
    // Not every system can flush a folder.
  } finally {
    closeSync(file)
  }
}

/** The remedy if a copy cannot be written. */
export const writeRemedy = 'Check that its disk has free space and that this user may write there.'
/** The remedy if a store cannot be written. */
export const spaceRemedy = 'Free some space there, and let this user write to it.'

/** The error for the operator: `what` failed, reason, remedy. Returns a StoreError of the gateway unchanged. */
export function copyFailure(error: unknown, what: string, remedy: string): unknown {
  const { errcode, diagnosis } = toStoreError(error)
  if (error instanceof StoreError && errcode === undefined) return error
  const reason = errcode === undefined ? systemReason(error) : diagnosis.reason
  return new StoreError(`${what}: ${reason}. ${remedy}`)
}

type NewFile = {
  path: string
  /** The folder of the store, whose files must not be overwritten. */
  dataDir: string
  /** Whether an existing file may be replaced. */
  replaces: boolean
}

/**
 * Writes a file of mode 0600 atomically: `write` fills a temporary file in the same folder, which is
 * then renamed. Throws a StoreError for an unusable path, and the errors of `write`.
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
  if (!existsSync(folder))
    throw new StoreError(`The folder ${folder} does not exist. Create it first.`)
  if (found?.isDirectory() === true)
    throw new StoreError(`${path} is a folder. Name a file in it, such as ${path}/gateway.backup.`)
  const isBeside = existsSync(dataDir) && statSync(folder).ino === statSync(dataDir).ino
  if (isBeside && basename(path).startsWith('gateway.'))
    throw new StoreError(`${path} would be one of the store's own files. Name another file.`)
  if (found !== undefined && !replaces)
    throw new StoreError(`${path} already exists. Name another file, or add --force.`)
}

/** Removes temporary files of killed processes. */
function removeParts(path: string): void {
  const prefix = `${basename(path)}.part-`
  for (const name of readdirSync(dirname(path))) {
    const id = name.startsWith(prefix) ? Number(name.slice(prefix.length)) : NaN
    if (id > 0 && !isRunning(id)) rmSync(join(dirname(path), name), { force: true })
  }
}
