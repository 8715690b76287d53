import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Kysely, sql, type CompiledQuery } from 'kysely'
import { changeFolder } from '../folder-lock.ts'
import { foldDeltas } from '../fold-deltas.ts'
import { makeFile, makeFolder } from '../folder.ts'
import { integersPlugin } from '../integers.ts'
import { migrate, newestSchema, schemaFor } from '../migrations.ts'
import { openSqlite } from '../sqlite.ts'
import { sqlDialectOf } from '../sql-dialect.ts'
import { StoreError, toStoreError } from '../store-error.ts'
import { storePath, type Store } from '../store.ts'
import type { Tables } from '../tables.ts'
import { replaceStore } from './backup.ts'
import { archivedHours, readExport, type ExportedRow, type ExportHead } from './export-format.ts'
import { checkStoreFile, copyFailure, spaceRemedy } from './store-file.ts'

/** The imported rows; `replaced` is the folder with the empty store that was replaced. */
export type Imported = Filled & { file: string; replaced: string | null }

/**
 * Creates the store of a folder from an export; all of it, or nothing. The folder must have no store, or
 * one without accounts. Throws a StoreError.
 */
export async function importIntoFolder(options: {
  dataDir: string
  file: string
}): Promise<Imported> {
  const { dataDir } = options
  const file = resolve(options.file)
  makeFolder(dataDir)
  const lock = await changeFolder(dataDir, 'import')
  // A killed import may have left the folder; this process holds DATA_DIR exclusively.
  const folder = join(dataDir, 'importing')
  try {
    assertEmptyFolder(dataDir)
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { mode: 0o700 })
    const path = storePath(folder)
    makeFile(path)
    const filled = await makeStore(path, file)
    checkStoreFile(path, 'The store that was imported')
    return { ...filled, file, replaced: replaceStore(dataDir, path) ?? null }
  } catch (error) {
    throw importFailure(error, file, dataDir)
  } finally {
    rmSync(folder, { recursive: true, force: true })
    lock.release()
  }
}

function assertEmptyFolder(dataDir: string): void {
  const path = storePath(dataDir)
  if (!existsSync(path)) return
  const { accounts, calls } = checkStoreFile(path, path)
  if (accounts === 0 && calls === 0) return
  throw new StoreError(
    `DATA_DIR: ${dataDir} already has a store (accounts: ${accounts}, calls: ${calls}); an import needs an empty one. Set DATA_DIR to another folder, or move this one away.`,
  )
}

const busyTimeoutMs = 5000

async function makeStore(path: string, file: string): Promise<Filled> {
  const options = { path, durability: 'normal', busyTimeoutMs, queueMax: 100 } as const
  const { dialect } = openSqlite(options)
  const db = new Kysely<Tables>({ dialect, plugins: [integersPlugin] })
  try {
    // Migrates to the schema of the export first, since the rows have the columns of that schema.
    const onHead = ({ schema }: ExportHead) => migrate(db, 'sqlite', schemaFor(schema))
    return await fillStore({ file, db, onHead, onEnd: () => migrate(db, 'sqlite') })
  } finally {
    // Closing the last connection checkpoints the log into the file.
    await db.destroy()
  }
}

function importFailure(error: unknown, file: string, dataDir: string): unknown {
  const { concernsRow, concernsStatement, message } = toStoreError(error)
  if (concernsRow || concernsStatement)
    return new StoreError(
      `${file} has rows that the store refuses: ${message}. Nothing was imported.`,
    )
  return copyFailure(error, `${file} cannot be imported into ${dataDir}`, spaceRemedy)
}

/**
 * Fills a database without accounts from an export, in one transaction. Throws a StoreError. Gateways
 * that start meanwhile wait for it.
 */
export async function importIntoDatabase(options: {
  store: Store
  file: string
}): Promise<Imported> {
  const file = resolve(options.file)
  try {
    return await options.store.db.transaction().execute(async (db) => {
      await assertEmptyDatabase(db)
      const filled = await fillStore({ file, db, onHead: assertNewest, onEnd: () => foldAll(db) })
      return { ...filled, file, replaced: null }
    })
  } catch (error) {
    const { concernsRow, concernsStatement, message, diagnosis } = toStoreError(error)
    if (error instanceof StoreError && error.cause === undefined) throw error
    const isOfRows = concernsRow || concernsStatement
    const what = `${file} ${isOfRows ? 'has rows that the store refuses' : 'cannot be imported'}`
    const why = isOfRows ? `${message}.` : `${diagnosis.reason}. ${diagnosis.remedy}`
    throw new StoreError(`${what}: ${why} Nothing was imported.`)
  }
}

async function foldAll(db: Kysely<Tables>): Promise<void> {
  for (let folded = 1; folded > 0;) folded = await foldDeltas(db)
}

async function assertEmptyDatabase(db: Kysely<Tables>): Promise<void> {
  await sql`lock table accounts in exclusive mode`.execute(db)
  const { rows } = await sql<{ accounts: number; calls: number }>`
    select (select count(*) from accounts) as accounts, (select count(*) from usage) as calls
  `.execute(db)
  const { accounts, calls } = rows[0]!
  if (accounts === 0 && calls === 0) {
    // Deletes the secret of a start that has not created an account yet; the export has its own secret.
    await db.deleteFrom('gateway_secrets').execute()
    return
  }
  throw new StoreError(
    `DATABASE_URL: the database already has a store (accounts: ${accounts}, calls: ${calls}); an import needs an empty one. Create another database, and set DATABASE_URL to it.`,
  )
}

async function assertNewest({ schema }: ExportHead): Promise<void> {
  if (schemaFor(schema) === newestSchema()) return
  throw new StoreError(
    `The export has an older schema (${schema}). Import it into an empty DATA_DIR without DATABASE_URL, which migrates it; then export that store and import the new file.`,
  )
}

type Filling = {
  file: string
  /** A store without rows, or one transaction of it. */
  db: Kysely<Tables>
  /** Called before the first row, and after the last one. */
  onHead?: (head: ExportHead) => Promise<void>
  onEnd?: () => Promise<void>
}

/** The imported rows and their total cost. */
type Filled = { head: ExportHead; rows: number; costNanoUsd: string }

/**
 * Inserts all rows of an export into a store, whose triggers add up the hourly sums, and compares the
 * store with the export. Throws a StoreError; the caller must then discard the inserted rows.
 */
async function fillStore({ file, db, onHead, onEnd }: Filling): Promise<Filled> {
  const [sums, archived] = [new Map<string, bigint>(), new Map<string, bigint>()]
  let head: ExportHead | undefined
  let compiled: { of: string; query: CompiledQuery } | undefined
  const { rows } = await readExport(file, {
    onHead: async (found) => {
      head = found
      await onHead?.(found)
    },
    onRows: async (table, batch) => {
      if (table === 'usage') batch.forEach((row) => addCost(sums, row))
      if (table === 'usage_archives') batch.forEach((row) => addCost(archived, row))
      const of = `${table} ${batch.length} ${Object.keys(batch[0]!).join()}`
      // Batches of the same form share a query, since compiling takes longer than inserting.
      if (compiled?.of !== of) compiled = { of, query: insertionOf(db, table, batch) }
      const parameters = batch.flatMap((row) => Object.values(row))
      await db.executeQuery({ ...compiled.query, parameters })
    },
  })
  await onEnd?.()
  await assertSame(db, head!, { sums, archived })
  const costNanoUsd = [...sums.values()].reduce((sum, cost) => sum + cost, 0n)
  return { head: head!, rows, costNanoUsd: String(costNanoUsd) }
}

function insertionOf(
  db: Kysely<Tables>,
  table: string,
  batch: readonly ExportedRow[],
): CompiledQuery {
  const columns = Object.keys(batch[0]!)
  const rows = batch.map((row) => sql`(${sql.join(Object.values(row))})`)
  const names = sql.join(columns.map((name) => sql.ref(name)))
  // PostgreSQL's table of this name is a view.
  const isView = table === archivedHours && sqlDialectOf(db) === 'postgres'
  const into = sql.table(isView ? 'usage_deltas' : table)
  return sql`insert into ${into} (${names}) values ${sql.join(rows)}`.compile(db)
}

function addCost(sums: Map<string, bigint>, row: ExportedRow): void {
  // `decodeValue` has checked the types of both values.
  const account = row['account_id'] as string
  const cost = row['cost_nano_usd'] as number | null
  sums.set(account, (sums.get(account) ?? 0n) + BigInt(cost ?? 0))
}

async function assertSame(
  db: Kysely<Tables>,
  head: ExportHead,
  { sums, archived }: Record<'sums' | 'archived', ReadonlyMap<string, bigint>>,
): Promise<void> {
  for (const [table, expected] of Object.entries(head.rows)) {
    const { rows } = await sql<{ found: unknown }>`
      select count(*) as found from ${sql.table(table)}`.execute(db)
    if (Number(rows[0]!.found) !== expected) throw differing(`its table ${table}`)
  }
  const ofHours = new Map(sums)
  for (const [id, cost] of archived) ofHours.set(id, (sums.get(id) ?? 0n) + cost)
  for (const [table, own] of Object.entries({ usage: sums, usage_hours: ofHours })) {
    const { rows } = await sql<{ account: string; total: string }>`
      select account_id as account, cast(coalesce(sum(cost_nano_usd), 0) as text) as total
      from ${sql.table(table)} group by account_id`.execute(db)
    const isSame = rows.every(({ account, total }) => BigInt(total) === own.get(account))
    if (!isSame || rows.length !== own.size) throw differing(`the sums of its table ${table}`)
  }
}

function differing(what: string): StoreError {
  const text = `The imported store differs from the export: ${what} is not the same.`
  return new StoreError(
    `${text} Nothing was imported. Report this bug with the versions of both gateways.`,
  )
}
