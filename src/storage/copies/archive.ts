import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { sql } from 'kysely'
import { journaled } from '../journal.ts'
import { sqlDialectOf } from '../sql-dialect.ts'
import { StoreError } from '../store-error.ts'
import type { Store } from '../store.ts'
import type { UsageTable } from '../tables.ts'
import { monthStart } from './archived-sums.ts'
import { readExport } from './export-format.ts'
import { exportHead, linesOf, writeExport } from './export.ts'
import { copyFailure, makeWholeFile, writeRemedy } from './store-file.ts'

/** An archived month and its file: `removed` rows were removed now, `kept` rows of the store are not in the file. */
export type ArchivedMonth = Month & {
  file: string
  calls: number
  costNanoUsd: string
  sha256: string
  removed: number
  kept: number
}

type Month = { month: string; from: number; to: number }
type Sum = { calls: number; cost: bigint }

type Options = {
  store: Store
  dataDir: string
  folder: string
  /** Whole months that stay beside the current one; 0 keeps all months, and only writes files. */
  monthsKept: number
  now: number
  onMonth: (month: ArchivedMonth) => void
}

/** A month is closed a day after its end: running calls and other clocks may still add rows to it. */
const closedAfterMs = 86_400_000

/**
 * Writes closed months of the ledger to files, reads each file again and compares it with the store, and then removes
 * the rows that are in the file; the oldest month first. Throws a StoreError. It may be killed and repeated at any moment.
 */
export async function archiveUsage(options: Options): Promise<void> {
  const { store, monthsKept, now, onMonth } = options
  const end = monthStart(now - closedAfterMs, -monthsKept)
  const { rows } = await sql<{ at: number | null }>`
    select min((select min(at) from usage where account_id = accounts.id)) as at
    from accounts`.execute(store.reader.db)
  for (let from = monthStart(rows[0]?.at ?? end); from < end; from = monthStart(from, 1)) {
    const month = new Date(from).toISOString().slice(0, 'yyyy-mm'.length)
    const archived = await archiveMonth({ month, from, to: monthStart(from, 1) }, options)
    if (archived !== undefined) onMonth(archived)
  }
}

async function archiveMonth(month: Month, options: Options): Promise<ArchivedMonth | undefined> {
  const { store, dataDir, folder, monthsKept } = options
  const path = resolve(folder, `usage-${month.month}.jsonl.gz`)
  const { rows } = await sumsIn(store.reader.db, month)
  if (rows.calls === 0) return undefined
  await assertNoJournal(dataDir, month)
  try {
    const archived = existsSync(path)
      ? await compare(path, month, store)
      : await makeWholeFile({ path, dataDir, replaces: false }, async (part) => {
          await writeMonth(store, month, part)
          return compare(part, month, store)
        })
    const removed = monthsKept === 0 ? 0 : await remove(path, month, store)
    return { ...month, file: path, ...archived, removed }
  } catch (error) {
    throw copyFailure(error, `${month.month} cannot be archived to ${path}`, writeRemedy)
  }
}

/** A row of a journal may be in an archive already, and would then be counted twice. */
async function assertNoJournal(dataDir: string, { month, from, to }: Month): Promise<void> {
  const rows = (await journaled(dataDir)) as [table: string, row: Partial<UsageTable>][]
  if (!rows.some(([, { at = 0 }]) => at >= from && at < to)) return
  throw new StoreError(
    `Journals in ${dataDir} have rows of ${month}. Start the gateway, which adds them, and archive again.`,
  )
}

/** Calls and cost of a month in one snapshot: rows, removed rows, and hourly sums. */
async function sumsIn(db: Store['db'], { from, to }: Month) {
  const sums = (name: string, calls: string) =>
    sql.raw(`'${name}' as name, coalesce(${calls}, 0) as calls,
      cast(coalesce(sum(cost_nano_usd), 0) as text) as cost`)
  // With `cross join` SQLite reads the range of each account, and not the whole tables.
  const found = await sql<{ name: string; calls: unknown; cost: string }>`
    select ${sums('rows', 'count(*)')} from accounts cross join usage
    where account_id = accounts.id and at >= ${from} and at < ${to}
    union all select ${sums('removed', 'sum(calls)')} from usage_archives where month_at = ${from}
    union all select ${sums('hours', 'sum(calls)')} from accounts cross join usage_hours as hours
    where account_id = accounts.id and hours.mode in ('live', 'test')
      and hour_at >= ${from} and hour_at < ${to}`.execute(db)
  const sumOf = (name: string): Sum => {
    const { calls, cost } = found.rows.find((row) => row.name === name)!
    return { calls: Number(calls), cost: BigInt(cost) }
  }
  return { rows: sumOf('rows'), removed: sumOf('removed'), hours: sumOf('hours') }
}

/** Writes the rows of a month as an export of one table, from one snapshot. */
async function writeMonth({ reader }: Store, month: Month, path: string): Promise<void> {
  await reader.db.transaction().execute(async (db) => {
    const { rows } = await sumsIn(db, month)
    const head = await exportHead(db, { usage: rows.calls })
    await writeExport(path, head, linesOf('usage', pagesOf(db, month)))
  })
}

const pageRows = 500

async function* pagesOf(db: Store['db'], { from, to }: Month): AsyncGenerator<UsageTable[]> {
  const accounts = await db.selectFrom('accounts').select('id').execute()
  for (const { id } of accounts) {
    let after: Pick<UsageTable, 'at' | 'id'> | undefined = { at: from, id: '' }
    while (after !== undefined) {
      const { rows }: { rows: UsageTable[] } = await sql<UsageTable>`
        select * from usage where account_id = ${id} and at >= ${after.at} and at < ${to}
          and (at, id) > (${after.at}, ${after.id})
        order by at, id limit ${sql.lit(pageRows)}`.execute(db)
      if (rows.length > 0) yield rows
      after = rows.length < pageRows ? undefined : rows.at(-1)
    }
  }
}

/**
 * Compares a file with the store: each row, and the sums of the month. Rows of the file may be missing in the store only as
 * far as rows were removed before. Throws a StoreError.
 */
async function compare(path: string, month: Month, store: Store) {
  const file: Sum = { calls: 0, cost: 0n }
  let equal = 0
  const sha256 = await readMonth(path, month, async (rows) => {
    file.calls += rows.length
    file.cost += costOf(rows)
    equal += (await equalRows(store.db, rows)).length
  })
  const { rows, removed, hours } = await sumsIn(store.reader.db, month)
  const [missing, kept] = [file.calls - equal, rows.calls - equal]
  if (removed.calls === 0 ? missing + kept > 0 : missing > removed.calls)
    throw new StoreError(
      `${path} differs from the store: ${missing} of its ${file.calls} rows are not in the store, and ${kept} rows of the store are not in it. Move it to another folder, and archive again.`,
    )
  if (rows.calls + removed.calls !== hours.calls || rows.cost + removed.cost !== hours.cost)
    throw new StoreError(
      `The rows of ${month.month} differ from their hourly sums. Nothing is removed; restore a backup, or report this bug.`,
    )
  return { calls: file.calls, costNanoUsd: String(file.cost), sha256, kept }
}

function costOf(rows: readonly UsageTable[]): bigint {
  return rows.reduce((sum, { cost_nano_usd: cost }) => sum + BigInt(cost ?? 0), 0n)
}

/** Reads an archive, each of whose rows must be a call of the month. Resolves with the checksum. */
async function readMonth(
  path: string,
  { month, from, to }: Month,
  onRows: (rows: readonly UsageTable[]) => Promise<void>,
): Promise<string> {
  const { sha256 } = await readExport(path, {
    onHead: () => Promise.resolve(),
    onRows: async (table, rows) => {
      // The reader has checked the types of the columns; `isSame` compares their names.
      const usage = rows as unknown as readonly UsageTable[]
      if (table !== 'usage' || usage.some(({ at }) => at < from || at >= to))
        throw new StoreError(`${path} has other rows than calls of ${month}.`)
      await onRows(usage)
    },
  })
  return sha256
}

/** The rows that the store has with the same values; a transaction locks them. */
async function equalRows(db: Store['db'], rows: readonly UsageTable[]): Promise<UsageTable[]> {
  const equal: UsageTable[] = []
  for (const [account, own] of Map.groupBy(rows, ({ account_id: id }) => id)) {
    const query = db.selectFrom('usage').selectAll().where(among(account, own))
    // SQLite's transaction has the write lock.
    const locks = db.isTransaction && sqlDialectOf(db) === 'postgres'
    const found = await (locks ? query.forUpdate() : query).execute()
    const byKey = new Map(found.map((row) => [`${row.at} ${row.id}`, row]))
    equal.push(...own.filter((row) => isSame(row, byKey.get(`${row.at} ${row.id}`))))
  }
  return equal
}

/** SQL condition for the rows of an account from the first to the last of these. */
function among(account: string, rows: readonly UsageTable[]) {
  const times = rows.map(({ at }) => at)
  return sql<boolean>`account_id = ${account}
    and at >= ${Math.min(...times)} and at <= ${Math.max(...times)}`
}

/** Whether the store's row has the values of a file's row; an older file lacks the columns of later versions. */
function isSame(file: object, stored: object = {}): boolean {
  const [kept, found] = [new Map(Object.entries(file)), new Map(Object.entries(stored))]
  return (
    kept.keys().every((name) => found.get(name) === kept.get(name)) &&
    found.entries().every(([name, value]) => kept.has(name) || value === null || value === 0)
  )
}

/** Removes the rows of a file that the store has unchanged, in small transactions, between which calls go on. */
async function remove(path: string, month: Month, { db }: Store): Promise<number> {
  let removed = 0
  await readMonth(path, month, async (rows) => {
    removed += await db.transaction().execute(async (transaction) => {
      const equal = await equalRows(transaction, rows)
      for (const own of Map.groupBy(equal, (row) => `${row.account_id} ${row.mode}`).values())
        await removeRows(transaction, own, month)
      return equal.length
    })
  })
  return removed
}

/** Removes rows of one account and mode, whose hourly sums stay. */
async function removeRows(db: Store['db'], rows: readonly UsageTable[], { month, from }: Month) {
  const { account_id: account, mode } = rows[0]!
  // Not by the index: SQLite would look for each id at each time.
  const ids = sql.join(rows.map(({ id }) => id))
  const these = sql<boolean>`${among(account, rows)} and id || '' in (${ids})`
  // The trigger `usage_taken_back` subtracts provisional rows from the sums; it knows them by their list of attempts.
  const provisional = db.updateTable('usage').set({ attempts: '' }).where(these)
  await provisional.where('outcome', '=', 'unknown').execute()
  const { numDeletedRows } = await db.deleteFrom('usage').where(these).executeTakeFirst()
  if (numDeletedRows !== BigInt(rows.length))
    throw new StoreError(`Rows of ${month} changed meanwhile. Archive again.`)
  await sql`
    insert into usage_archives (account_id, mode, month_at, calls, cost_nano_usd)
    values (${account}, ${mode}, ${from}, ${rows.length}, ${costOf(rows)})
    on conflict (account_id, mode, month_at) do update set
      calls = usage_archives.calls + excluded.calls,
      cost_nano_usd = usage_archives.cost_nano_usd + excluded.cost_nano_usd`.execute(db)
}
