import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { runIn, useDatabase } from '../../test/support/each-store.ts'
import { makeFolder } from '../../test/support/folder.ts'
import { startGateway, suiteClock, type TestGateway } from '../../test/support/gateway.ts'
import { startPostgres } from '../../test/support/servers/postgres.ts'
import { median } from './statistics.ts'

// Compares the time of request lists for an account with a million rows and one with a hundred, over
// HTTP and in one store. Usage: npm run bench:requests -- [sqlite] [postgres]. Exits with 1 when the
// ratio exceeds the limit.

const ratioMax = 1.5
const rounds = 5
const asksPerRound = 60
const spanMs = 30 * 86_400_000
const sizes = { small: 100, large: 1_000_000 }

type Account = { id: string; key: string; rows: number }
/** A request of the dashboard; it returns the same number of rows for both accounts. */
type View = { name: string; path: (account: Account) => string; isJudged: boolean }

const endMs = suiteClock() - 3_600_000
const list = '/api/requests?limit=50'
const views: View[] = [
  { name: 'first page', path: () => list, isJudged: true },
  { name: 'page of a model', path: () => `${list}&model=model-1`, isJudged: true },
  { name: 'page of an outcome', path: () => `${list}&outcome=failed`, isJudged: true },
  { name: 'page of an error', path: () => `${list}&error_code=timeout`, isJudged: true },
  { name: 'one by its id', path: ({ rows }) => `/api/requests/${idOf(rows, 40)}`, isJudged: true },
  // Not judged: the query scans 10,000 rows of the large account, but only 100 of the small account.
  { name: 'page of a key without calls', path: () => `${list}&key_id=key_none`, isJudged: false },
]

const atOf = (rows: number, n: number): number => endMs - spanMs + Math.floor((n * spanMs) / rows)

function idOf(rows: number, n: number): string {
  const time = atOf(rows, n).toString(16).padStart(12, '0')
  return `req_${time}${String(n).padStart(20, '0')}`
}

const columns = `id, at, account_id, key_id, mode, face, modality, model, provider, upstream_model,
  outcome, error_code, cache, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens,
  images, cost_nano_usd, cost_status, attempts, duration_ms`

/** The statement that inserts an account's calls: two models by turns, and every second call failed. */
function filling({ id, rows }: Account, store: StoreName): string {
  const step = spanMs / rows
  const isSqlite = store === 'sqlite'
  const from = endMs - spanMs
  const [numbers, whole, named] = isSqlite
    ? [
        `WITH RECURSIVE calls(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM calls WHERE n + 1 < ${rows})`,
        `CAST(n * ${step} AS INTEGER)`,
        `printf('req_%012x%020d', at, n)`,
      ]
    : [
        `WITH calls AS (SELECT n FROM generate_series(0::bigint, ${rows - 1}) AS n)`,
        `floor(n * ${step})::bigint`,
        `'req_' || lpad(to_hex(at), 12, '0') || lpad(n::text, 20, '0')`,
      ]
  const attempts = (outcome: string) =>
    `'[{"provider":"provider-1","upstreamModel":"model","outcome":"${outcome}","status":200,"startMs":1,"durationMs":900}]'`
  return `INSERT INTO usage (${columns})
    SELECT ${named}, at, '${id}', 'key_' || (n % 5), 'live', 'chat', 'chat', 'model-' || (n % 2),
      'provider-' || (n % 3), 'model-' || (n % 2),
      CASE n % 2 WHEN 0 THEN 'failed' ELSE 'ok' END, CASE n % 2 WHEN 0 THEN 'timeout' END,
      'miss', 1000, 0, 200, 0, 0, 123456, 'exact',
      CASE n % 2 WHEN 0 THEN ${attempts('timeout')} ELSE ${attempts('ok')} END, 1000
    FROM (${numbers} SELECT n, ${from} + ${whole} AS at FROM calls) AS made`
}

type StoreName = 'sqlite' | 'postgres'

async function measureIn(store: StoreName): Promise<boolean> {
  const folder = makeFolder()
  const postgres = store === 'postgres' ? await startPostgres({ fsync: 'on' }) : undefined
  const url = await postgres?.createDatabase()
  if (url !== undefined) useDatabase(folder.path, url)
  const dataDir = join(folder.path, 'data')
  const gateway = await startGateway({ beside: { dataDir } })
  try {
    const accounts: Account[] = []
    for (const rows of Object.values(sizes)) {
      const id = await gateway.createAccount()
      const key = await gateway.createKey('live', { accountId: id, scopes: ['usage:read'] })
      accounts.push({ id, key, rows })
    }
    for (const account of accounts) {
      const statement = filling(account, store)
      if (url !== undefined) await runIn(url, statement)
      else fillFile(join(dataDir, 'gateway.db'), statement)
    }
    if (url !== undefined) await runIn(url, 'vacuum analyze usage')
    let isWithin = true
    for (const view of views) {
      const ratio = await measure(gateway, view, accounts)
      isWithin &&= !view.isJudged || ratio <= ratioMax
      console.log(
        `${store.padEnd(9)} ${view.name.padEnd(28)} ratio ${ratio.toFixed(2)}` +
          (view.isJudged ? ` (at most ${ratioMax})` : ' (no limit)'),
      )
    }
    return isWithin
  } finally {
    await gateway.stop()
    await postgres?.stop()
    folder.remove()
  }
}

function fillFile(path: string, statement: string): void {
  const database = new DatabaseSync(path, { timeout: 60_000 })
  database.exec(statement)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
}

/** The median ratio of all rounds; requests alternate between the accounts. */
async function measure(gateway: TestGateway, view: View, accounts: Account[]): Promise<number> {
  const ratios: number[] = []
  const medians: number[][] = accounts.map(() => [])
  for (let round = 0; round <= rounds; round++) {
    const times: number[][] = accounts.map(() => [])
    for (let ask = 0; ask < asksPerRound; ask++) {
      for (const [index, account] of accounts.entries()) {
        const startedAt = performance.now()
        const response = await gateway.fetch(view.path(account), { key: account.key })
        const text = await response.text()
        times[index]!.push(performance.now() - startedAt)
        if (response.status !== 200) throw new Error(`${view.name}: ${text}`)
      }
    }
    // The first round warms up.
    if (round === 0) continue
    const [small = 0, large = 0] = times.map(median)
    for (const [index, one] of [small, large].entries()) medians[index]!.push(one)
    ratios.push(large / small)
  }
  const [small = 0, large = 0] = medians.map(median)
  console.log(
    `${''.padEnd(9)} ${small.toFixed(2)} ms with 100 rows, ${large.toFixed(2)} ms with 1,000,000`,
  )
  return median(ratios)
}

const asked = process.argv.slice(2) as StoreName[]
let isWithin = true
for (const store of asked.length > 0 ? asked : (['sqlite'] as const)) {
  if (!(await measureIn(store))) isWithin = false
}
process.exitCode = isWithin ? 0 : 1
