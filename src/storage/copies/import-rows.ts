import { sql, type CompiledQuery, type Kysely } from 'kysely'
import { StoreError } from '../store-error.ts'
import type { Tables } from '../tables.ts'
import type { ExportHead } from './export-format.ts'
import { readExport, type ExportedRow } from './export-reader.ts'

type Options = {
  file: string
  /** A store without rows, or one transaction of it. */
  db: Kysely<Tables>
  /** To be done before the first row, and behind the last one. */
  onHead?: (head: ExportHead) => Promise<void>
  onEnd?: () => Promise<void>
}

/** What an export has brought. */
export type Filled = { head: ExportHead; rows: number; costNanoUsd: string }

/**
 * Inserts all rows of an export into a store, whose triggers make the sums by the hour, and looks
 * whether both have the same. Throws a StoreError; what was inserted is to be thrown away then.
 */
export async function fillStore({ file, db, onHead, onEnd }: Options): Promise<Filled> {
  const sums = new Map<string, bigint>()
  let head: ExportHead | undefined
  let compiled: { of: string; query: CompiledQuery } | undefined
  const rows = await readExport(file, {
    onHead: async (found) => {
      head = found
      await onHead?.(found)
    },
    onRows: async (table, batch) => {
      if (table === 'usage') batch.forEach((row) => addCost(sums, row))
      const of = `${table} ${batch.length} ${Object.keys(batch[0]!).join()}`
      // Compiling takes longer than inserting.
      if (compiled?.of !== of) compiled = { of, query: insertionOf(db, table, batch) }
      const parameters = batch.flatMap((row) => Object.values(row))
      await db.executeQuery({ ...compiled.query, parameters })
    },
  })
  await onEnd?.()
  await assertSame(db, head!, sums)
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
  return sql`insert into ${sql.table(table)} (${names}) values ${sql.join(rows)}`.compile(db)
}

function addCost(sums: Map<string, bigint>, row: ExportedRow): void {
  // `decodeValue` has seen to it that both are what the ledger holds.
  const account = row['account_id'] as string
  const cost = row['cost_nano_usd'] as number | null
  sums.set(account, (sums.get(account) ?? 0n) + BigInt(cost ?? 0))
}

async function assertSame(
  db: Kysely<Tables>,
  head: ExportHead,
  sums: ReadonlyMap<string, bigint>,
): Promise<void> {
  for (const [table, expected] of Object.entries(head.rows)) {
    const { rows } = await sql<{ found: unknown }>`
      select count(*) as found from ${sql.table(table)}`.execute(db)
    if (Number(rows[0]!.found) !== expected) throw differing(`its table ${table}`)
  }
  for (const table of ['usage', 'usage_hours'] as const) {
    const { rows } = await sql<{ account: string; total: string }>`
      select account_id as account, cast(coalesce(sum(cost_nano_usd), 0) as text) as total
      from ${sql.table(table)} group by account_id`.execute(db)
    const isSame = rows.every(({ account, total }) => BigInt(total) === sums.get(account))
    if (!isSame || rows.length !== sums.size) throw differing(`the sums of its table ${table}`)
  }
}

function differing(what: string): StoreError {
  const text = `The store that was imported is not what the export holds: ${what} differs.`
  return new StoreError(`${text} Nothing was imported. Report this with the versions of both.`)
}
