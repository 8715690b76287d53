import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { sql, type Kysely } from 'kysely'
import { journaled } from '../journal.ts'
import { newestSchema } from '../migrations.ts'
import { sameWindow } from '../migrations/budgets.ts'
import { StoreError } from '../store-error.ts'
import type { Store } from '../store.ts'
import type { Tables } from '../tables.ts'
import { archivedSums } from './archived-sums.ts'
import {
  archivedHours,
  encodeValue,
  exportedTables,
  exportName,
  exportVersion,
  isCompressed,
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
      const { rows } = await readExport(part, { onHead: ignore, onRows: ignore })
      return { file: path, head, rows }
    })
    return { ...written, journaledRows: (await journaled(dataDir)).length }
  } catch (error) {
    throw copyFailure(error, `${path} cannot be written`, writeRemedy)
  }
}

const ignore = () => Promise.resolve()

/** Reads a snapshot of all tables in one transaction of the reader. */
function write(db: Kysely<Tables>, path: string): Promise<ExportHead> {
  return db.transaction().execute(async (transaction) => {
    const head = await headOf(transaction)
    await writeExport(path, head, allLines(transaction))
    return head
  })
}

async function* allLines(db: Kysely<Tables>): AsyncGenerator<Lines> {
  // Comes first: the triggers of an import add the rows of `usage` to these sums.
  yield* linesOf(archivedHours, archivedSums(db))
  for (const [table, plan] of exportedTables) yield* linesOf(table, pagesOf(db, table, plan))
}

type Lines = readonly unknown[]

/** Writes the lines of an export with its last line; compressed if the path says so. */
export async function writeExport(
  path: string,
  head: ExportHead,
  lines: AsyncIterable<Lines>,
): Promise<void> {
  const hash = createHash('sha256')
  const end: ExportEnd = { rows: 0, sha256: '' }
  const bytesOf = (values: Lines) =>
    Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(''))
  const bytes = async function* () {
    const first = bytesOf([head])
    hash.update(first)
    yield first
    for await (const values of lines) {
      const next = bytesOf(values)
      hash.update(next)
      end.rows += values.filter(Array.isArray).length
      yield next
    }
    end.sha256 = hash.digest('hex')
    yield bytesOf([end])
  }
  const file = createWriteStream(path, { flags: 'r+' })
  if (isCompressed(path)) await pipeline(bytes, createGzip(), file)
  else await pipeline(bytes, file)
}

/** The first line of an export of a store with these numbers of rows. */
export async function exportHead(
  db: Kysely<Tables>,
  rows: Readonly<Record<string, number>>,
): Promise<ExportHead> {
  const { rows: ran } = await sql<{ name: string }>`
    select max(name) as name from kysely_migration`.execute(db)
  if (ran[0]!.name > newestSchema())
    throw new StoreError(
      'The store is newer than this version, whose export would lack columns. Export it with the version that migrated it.',
    )
  return {
    format: exportName,
    version: exportVersion,
    schema: ran[0]!.name,
    made_at: new Date().toISOString(),
    rows,
  }
}

async function headOf(db: Kysely<Tables>): Promise<ExportHead> {
  const counts: Record<string, number> = {}
  for (const table of exportedTables.keys()) {
    const { rows } = await sql<{ count: unknown }>`
      select count(*) as count from ${sql.table(table)}`.execute(db)
    counts[table] = Number(rows[0]!.count)
  }
  return exportHead(db, counts)
}

/** The lines of a table: its columns, then its rows. */
export async function* linesOf(table: string, pages: AsyncIterable<Row[]>): AsyncGenerator<Lines> {
  let columns: string[] | undefined
  for await (const rows of pages) {
    if (columns === undefined) {
      columns = Object.keys(rows[0]!)
      const heading: ExportTable = { table, columns }
      yield [heading]
    }
    const order = columns
    yield rows.map((row) => order.map((column) => encodeValue(row[column])))
  }
}

/** The windows of budgets without what processes lease, which a copy has not: PostgreSQL shows it as reserved. */
const unleasedWindows = sql`(
  select owner_id, starts_at, ends_at, spent_nano_usd, reserved_nano_usd - cast((
    select coalesce(sum(nano_usd), 0) from budget_leases as l where ${sql.raw(sameWindow('l', 'w'))}
  ) as bigint) as reserved_nano_usd from budget_windows as w)`

/** The rows of a table in pages, each starting after the last row's key. */
async function* pagesOf(
  db: Kysely<Tables>,
  table: string,
  { key, rowsPerPage }: ExportPlan,
): AsyncGenerator<Row[]> {
  const names = sql.join(key.map((name) => sql.ref(name)))
  const from = table === 'budget_windows' ? unleasedWindows : sql.table(table)
  let last: Row | undefined
  for (;;) {
    const afterLast =
      last === undefined
        ? sql``
        : sql`where (${names}) > (${sql.join(key.map((name) => last![name]))})`
    const { rows } = await sql<Row>`
      select * from ${from} as one ${afterLast} order by ${names}
      limit ${sql.lit(rowsPerPage)}`.execute(db)
    if (rows.length === 0) return
    yield rows
    last = rows.at(-1)
  }
}
