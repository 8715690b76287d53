import pg from 'pg'
import type { Answer } from './calls.ts'

/** Ledger rows, budgets and sums of a store. */
export type Ledger = {
  rows: readonly { id: string; cost: number | null; isKnown: boolean }[]
  /** Budget windows whose sum differs from the sum of their ledger rows; a row without a cost may add to it. */
  wrongWindows: readonly string[]
  /** The number of accounts whose hourly sums differ from their ledger rows. */
  wrongHours: number
  reservations: number
}

/** Reads the store; rejects while it does not answer. */
export async function readLedger(databaseUrl: string): Promise<Ledger> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5000 })
  client.on('error', () => undefined)
  await client.connect()
  const ask = async (text: string) => (await client.query<Record<string, unknown>>(text)).rows
  try {
    // One snapshot: a reservation that becomes a row between two queries would be in neither.
    await ask('begin isolation level repeatable read read only')
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
  select owner_id, spent_nano_usd, reserved_nano_usd, recorded, unpriced
  from budget_windows cross join lateral (
    select coalesce(sum(cost_nano_usd), 0) recorded, count(*) - count(cost_nano_usd) unpriced
    from usage where mode = 'live' and at >= starts_at and at < ends_at
      and owner_id in (account_id, key_id)) rows_of_window
  where spent_nano_usd < recorded or (spent_nano_usd > recorded and unpriced = 0)`

const sums = 'sum(cost_nano_usd) cost, sum(input_tokens) input, sum(output_tokens) output'
const hoursThatDiffer = `
  (select account_id, sum(calls) calls, ${sums} from usage_hours group by account_id)
  except
  (select account_id, count(*) calls, ${sums} from usage group by account_id)`

/** Differences between receipts of callers, requests to the vendor and the ledger, one sentence each. */
export function faultsOf(answers: readonly Answer[], ledger: Ledger, charged: Charged): string[] {
  const costs = new Map(ledger.rows.map(({ id, cost }) => [id, cost]))
  const given = answers.filter(({ status }) => status === 200)
  const unrecorded = given.filter(({ requestId }) => !costs.has(requestId))
  const otherwise = given.filter(
    ({ requestId, costNanoUsd }) => costs.has(requestId) && costs.get(requestId) !== costNanoUsd,
  )
  // A killed gateway's call is charged its reservation, as it is unknown if the vendor was called.
  const known = ledger.rows.filter(({ isKnown, cost }) => isKnown && (cost ?? 0) > 0).length
  const unknown = ledger.rows.filter(({ isKnown }) => !isKnown).length
  const asked = [...charged.values()].reduce((sum, times) => sum + times, 0)
  const twice = [...charged.values()].filter((times) => times > 1).length
  const unique = new Set(ledger.rows.map(({ id }) => id)).size
  return [
    ...(unrecorded.length > 0 ? [`${unrecorded.length} answers have no row`] : []),
    ...(otherwise.length > 0 ? [`${otherwise.length} receipts differ from the ledger`] : []),
    ...(unique < ledger.rows.length
      ? [`${ledger.rows.length - unique} rows are recorded twice`]
      : []),
    ...(known > asked ? [`${known} calls are charged, but only ${asked} were made`] : []),
    ...(known + unknown < asked
      ? [
          `${asked} calls were made, but only ${known} are charged, and ${unknown} at their reservation`,
        ]
      : []),
    ...(twice > 0 ? [`${twice} calls were made twice`] : []),
    ...(ledger.reservations > 0 ? [`${ledger.reservations} reservations are left`] : []),
    ...ledger.wrongWindows.map((window) => `a budget differs from the sum of its calls: ${window}`),
    ...(ledger.wrongHours > 0
      ? [`hourly sums of ${ledger.wrongHours} accounts differ from the rows`]
      : []),
  ]
}

/** The number of requests to the vendor by question. */
export type Charged = ReadonlyMap<string, number>
