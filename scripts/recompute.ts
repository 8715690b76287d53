/**
 * `npm run -s recompute -- <gateway.db or DATA_DIR> [--json]`: recalculates the cost of each row of the ledger
 * from that row alone, without the catalog, and prints the rows whose cost differs. Without an argument it
 * reads the ledger of DATABASE_URL. Opens the store read-only. Exits with 1 when a cost differs, with 2 when
 * the ledger cannot be read.
 */
import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import { usageIn } from '../src/accounts/ledger.ts'
import { usageCountNames, type UsageCount } from '../src/core/money/price.ts'
import { loadConfig, readVariables } from '../src/settings/config.ts'
import { readPricing, costNanoUsd, type Pricing } from '../src/core/money/pricing.ts'
import { usdText } from '../src/core/money/price.ts'
import { storePath } from '../src/storage/store.ts'
import type { UsageTable } from '../src/storage/tables.ts'

type Row = Pick<UsageTable, UsageCount | 'id' | 'account_id' | 'cost_nano_usd' | 'pricing'>
type Difference = {
  id: string
  account_id: string
  stored_nano_usd: number | null
  /** A text is the reason why the cost cannot be calculated. */
  computed_nano_usd: number | null | string
}
type Report = {
  rows: number
  /** Rows of old versions, which did not store the pricing. */
  not_explained: number
  differences: number
  stored_nano_usd: string
  computed_nano_usd: string
  /** The first differences. */
  differing: Difference[]
}

const differencesPrinted = 1000

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { json: { type: 'boolean', default: false } },
  })
  const [given] = positionals
  const { databaseUrl } = loadConfig(readVariables()).secrets
  if (positionals.length > 1 || (given === undefined && databaseUrl === undefined)) {
    return refuse('Name the store: npm run -s recompute -- <gateway.db or DATA_DIR> [--json]')
  }
  const path = given === undefined ? undefined : fileOf(given)
  if (path !== undefined && !existsSync(path)) return refuse(`${path} does not exist.`)
  let report: Report
  try {
    const rows = path === undefined ? rowsOfDatabase(databaseUrl!) : rowsOfFile(path)
    report = await recompute(rows)
  } catch (error) {
    return refuse(`${path ?? 'The database'} cannot be read: ${(error as Error).message}.`)
  }
  process.stdout.write(values.json ? `${JSON.stringify(report)}\n` : printed(report))
  if (report.differences > 0) process.exitCode = 1
}

function refuse(reason: string): void {
  process.stderr.write(`${reason}\n`)
  process.exitCode = 2
}

const columns = ['id', 'account_id', 'cost_nano_usd', 'pricing', ...usageCountNames] as const

function fileOf(given: string): string {
  return statSync(given, { throwIfNoEntry: false })?.isDirectory() ? storePath(given) : given
}

function* rowsOfFile(path: string): Generator<Row> {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    for (const row of database.prepare(`select ${columns.join(', ')} from usage`).iterate()) {
      // Has the columns of src/storage/tables.ts.
      yield row as Row
    }
  } finally {
    database.close()
  }
}

const rowsPerPage = 1000

/** The rows of a PostgreSQL database, page by page. */
async function* rowsOfDatabase(url: string): AsyncGenerator<Row> {
  const { readPostgres } = await import('../src/storage/postgres-store.ts')
  const db = readPostgres(url)
  try {
    const pages = db
      .selectFrom('usage')
      .select([...columns, 'at'])
      .orderBy('account_id')
      .orderBy('at')
      .orderBy('id')
      .limit(rowsPerPage)
    let page = await pages.execute()
    while (page.length > 0) {
      yield* page
      const { account_id, at, id } = page.at(-1)!
      const beyond = sql<boolean>`(account_id, at, id) > (${account_id}, ${at}, ${id})`
      page = await pages.where(beyond).execute()
    }
  } finally {
    await db.destroy()
  }
}

/** Reads row by row, because the ledger may be larger than memory. */
async function recompute(found: Iterable<Row> | AsyncIterable<Row>): Promise<Report> {
  const readText = pricingReader()
  let [rows, notExplained, differences] = [0, 0, 0]
  let [stored, computed] = [0n, 0n]
  const differing: Difference[] = []
  for await (const row of found) {
    rows++
    if (row.pricing === null) {
      notExplained++
      continue
    }
    const again = costOfRow(row, readText)
    stored += BigInt(row.cost_nano_usd ?? 0)
    if (typeof again === 'number') computed += BigInt(again)
    if (again === row.cost_nano_usd) continue
    differences++
    if (differing.length < differencesPrinted) differing.push(differenceOf(row, again))
  }
  return {
    rows,
    not_explained: notExplained,
    differences,
    stored_nano_usd: String(stored),
    computed_nano_usd: String(computed),
    differing,
  }
}

type ReadText = (text: string) => Pricing

function costOfRow(row: Row, readText: ReadText): Difference['computed_nano_usd'] {
  try {
    return costNanoUsd(usageIn(row), readText(row.pricing!))
  } catch {
    return 'its pricing cannot be read'
  }
}

function differenceOf(row: Row, again: Difference['computed_nano_usd']): Difference {
  const { id, account_id, cost_nano_usd } = row
  return { id, account_id, stored_nano_usd: cost_nano_usd, computed_nano_usd: again }
}

/** Parses pricing texts; caches them, because most calls of a model have the same one. */
function pricingReader(): ReadText {
  const kept = new Map<string, Pricing>()
  return (text) => {
    const known = kept.get(text)
    if (known !== undefined) return known
    const pricing = readPricing(text)
    if (kept.size >= 1000) kept.clear()
    kept.set(text, pricing)
    return pricing
  }
}

function printed(report: Report): string {
  const usd = (nanoUsd: string) => `$${usdText(BigInt(nanoUsd))}`
  const cost = (value: Difference['computed_nano_usd']) =>
    typeof value === 'number' ? usd(String(value)) : (value ?? 'unknown')
  const lines = report.differing.map(
    ({ id, stored_nano_usd: stored, computed_nano_usd: computed }) =>
      `${id}: stored ${cost(stored)}, computed ${cost(computed)}`,
  )
  const more = report.differences - lines.length
  if (more > 0) lines.push(`and ${more} more`)
  lines.push(
    `${report.rows} rows, ${report.not_explained} of them not explained (written before prices were kept)`,
    `stored ${usd(report.stored_nano_usd)}, computed ${usd(report.computed_nano_usd)}`,
    `${report.differences} differences`,
  )
  return `${lines.join('\n')}\n`
}

await main()
