import pg from 'pg'
import type { Answer } from './calls.ts'

/** What the store has of calls. */
export type Books = {
  rows: readonly { id: string; cost: number | null; isKnown: boolean }[]
  /** Budget windows whose sum is not that of their rows. */
  wrongWindows: readonly string[]
  /** Hours whose sums are not those of the rows. */
  wrongHours: number
  reservations: number
}

/** Reads the store; rejects while it does not answer. */
export async function readBooks(databaseUrl: string): Promise<Books> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5000 })
  client.on('error', () => undefined)
  await client.connect()
  const ask = async (text: string) => (await client.query<Record<string, unknown>>(text)).rows
  try {
    const rows = await ask('select id, cost_nano_usd, cost_status from usage')
    const windows = await ask(windowsThatDiffer)
    const hours = await ask(hoursThatDiffer)
    const held = await ask('select count(*) as held from reservations')
    return {
      rows: rows.map(({ id, cost_nano_usd: cost, cost_status: status }) => ({
        id: String(id),
        cost: cost === null ? null : Number(cost),
        isKnown: status !== 'unknown',
      })),
      wrongWindows: windows.map((row) => JSON.stringify(row)),
      wrongHours: hours.length,
      reservations: Number(held[0]!['held']),
    }
  } finally {
    await client.end()
  }
}

const windowsThatDiffer = `
  select owner_id, spent_nano_usd, reserved_nano_usd, recorded from (
    select *, (select coalesce(sum(cost_nano_usd), 0) from usage
      where mode = 'live' and at >= starts_at and at < ends_at
        and owner_id in (account_id, key_id)) recorded
    from budget_windows) compared
  where spent_nano_usd <> recorded`

const sums = 'sum(cost_nano_usd) cost, sum(input_tokens) input, sum(output_tokens) output'
const hoursThatDiffer = `
  (select account_id, sum(calls) calls, ${sums} from usage_hours group by account_id)
  except
  (select account_id, count(*) calls, ${sums} from usage group by account_id)`

/** What is wrong between what callers were told, what the vendor was asked and what is recorded. */
export function faultsOf(answers: readonly Answer[], books: Books, charged: Charged): string[] {
  const costs = new Map(books.rows.map(({ id, cost }) => [id, cost]))
  const given = answers.filter(({ status }) => status === 200)
  const unrecorded = given.filter(({ requestId }) => !costs.has(requestId))
  const otherwise = given.filter(
    ({ requestId, costNanoUsd }) => costs.has(requestId) && costs.get(requestId) !== costNanoUsd,
  )
  // Of a call whose gateway died nobody knows whether the vendor was asked: it is charged as it was held.
  const known = books.rows.filter(({ isKnown, cost }) => isKnown && (cost ?? 0) > 0).length
  const unknown = books.rows.filter(({ isKnown }) => !isKnown).length
  const asked = [...charged.values()].reduce((sum, times) => sum + times, 0)
  const twice = [...charged.values()].filter((times) => times > 1).length
  const unique = new Set(books.rows.map(({ id }) => id)).size
  return [
    ...(unrecorded.length > 0 ? [`${unrecorded.length} answers have no row`] : []),
    ...(otherwise.length > 0 ? [`${otherwise.length} receipts are not what is recorded`] : []),
    ...(unique < books.rows.length ? [`${books.rows.length - unique} rows are doubled`] : []),
    ...(known > asked ? [`${known} calls are charged, ${asked} were made`] : []),
    ...(known + unknown < asked
      ? [`${asked} calls were made, ${known} are charged and ${unknown} as they were held`]
      : []),
    ...(twice > 0 ? [`${twice} calls were made twice`] : []),
    ...(books.reservations > 0 ? [`${books.reservations} reservations are left`] : []),
    ...books.wrongWindows.map((window) => `a budget is not the sum of its calls: ${window}`),
    ...(books.wrongHours > 0 ? [`sums of ${books.wrongHours} accounts are not of the rows`] : []),
  ]
}

/** How often the vendor was asked each question. */
export type Charged = ReadonlyMap<string, number>
