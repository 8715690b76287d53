import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { sql, type Kysely } from 'kysely'
import { journaled } from '../journal.ts'
import { newestSchema } from '../migrations.ts'
import { StoreError } from '../store-error.ts'
import type { Store } from '../store.ts'
import type { Tables } from '../tables.ts'
import {
  encodeValue,
  exportedTables,
  exportName,
  exportVersion,
  readExport,
  type ExportEnd,
  type ExportHead,
  type ExportPlan,
  type ExportTable,
} from './export-format.ts'
import { copyFailure, makeWholeFile, writeRemedy } from './store-file.ts'

export type Exported = { file: string; head: ExportHead; rows: number; journaledRows: number }

type Options = { store: Pick<Store, 'reader'>; dataDir: string; file: string; replaces: boolean }
type Row = Record<string, unknown>

/**
 * Writes a snapshot of all rows of a store into one file, and verifies it by reading it. Throws a
 * StoreError. `journaledRows` counts rows in the folder's journals, which may be missing from the file.
 */
export async function exportStore({ store, dataDir, ...options }: Options): Promise<Exported> {
  const { replaces } = options
  const path = resolve(options.file)
  try {
    const written = await makeWholeFile({ path, dataDir, replaces }, async (part) => {
      const head = await write(store.reader.db, part)
      const rows = await readExport(part, { onHead: ignore, onRows: ignore })
      return { file: path, head, rows }
    })
    return { ...written, journaledRows: (await journaled(dataDir)).length }
  } catch (error) {
    throw copyFailure(error, `${path} cannot be written`, writeRemedy)
  }
}

const ignore = () => Promise.resolve()

async function write(db: Kysely<Tables>, path: string): Promise<ExportHead> {
  const file = await open(path, 'r+')
  const hash = createHash('sha256')
  const print = async (values: readonly unknown[]) => {
    const bytes = Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(''))
    hash.update(bytes)
    await file.writeFile(bytes)
  }
  try {
    // One transaction of the reader sees one snapshot.
    return await db.transaction().execute(async (transaction) => {
      const head = await headOf(transaction)
      await print([head])
      let count = 0
      for (const [table, plan] of exportedTables)
        count += await writeTable(transaction, table, plan, print)
      const end: ExportEnd = { rows: count, sha256: hash.copy().digest('hex') }
      await print([end])
      return head
    })
  } finally {
    await file.close()
  }
}

async function headOf(db: Kysely<Tables>): Promise<ExportHead> {
  const { rows: ran } = await sql<{ name: string }>`
    select max(name) as name from kysely_migration`.execute(db)
  if (ran[0]!.name > newestSchema())
    throw new StoreError(
      'The store is newer than this version, whose export would lack columns. Export it with the version that migrated it.',
    )
  const counts: Record<string, number> = {}
  for (const table of exportedTables.keys()) {
    const { rows } = await sql<{ count: unknown }>`
      select count(*) as count from ${sql.table(table)}`.execute(db)
    counts[table] = Number(rows[0]!.count)
  }
  return {
    format: exportName,
    version: exportVersion,
    schema: ran[0]!.name,
    made_at: new Date().toISOString(),
    rows: counts,
  }
}

/** Writes a table in pages, each starting after the last row's key; resolves with the number of rows. */
async function writeTable(
  db: Kysely<Tables>,
  table: string,
  { key, rowsPerPage }: ExportPlan,
  print: (values: readonly unknown[]) => Promise<void>,
): Promise<number> {
  const names = sql.join(key.map((name) => sql.ref(name)))
  let columns: string[] | undefined
  let last: Row | undefined
  for (let count = 0; ;) {
    const afterLast =
      last === undefined
        ? sql``
        : sql`where (${names}) > (${sql.join(key.map((name) => last![name]))})`
    const { rows } = await sql<Row>`
      select * from ${sql.table(table)} ${afterLast} order by ${names}
      limit ${sql.lit(rowsPerPage)}`.execute(db)
    if (rows.length === 0) return count
    if (columns === undefined) {
      columns = Object.keys(rows[0]!)
      const heading: ExportTable = { table, columns }
      await print([heading])
    }
    const order = columns
    await print(rows.map((row) => order.map((column) => encodeValue(row[column]))))
    count += rows.length
    last = rows.at(-1)
  }
}
