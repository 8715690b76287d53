import { closeSync, fsyncSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { applicationId, assertNotNewer } from '../migrations.ts'
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

/** Copies a store as it is at one moment into an empty file, and nothing of what it no longer uses. */
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
