import { join } from 'node:path'
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'

type Row = Record<string, SQLOutputValue>

/** Copies each new reservation to a table, because the store deletes it at settlement. */
export function noteReservations(dataDir: string): void {
  inStore(dataDir, (store) =>
    store.exec(`
      create table noted_reservations (request_id text primary key, nano_usd bigint not null);
      create trigger reservation_noted after insert on reservations begin
        insert or ignore into noted_reservations values (new.request_id, new.nano_usd);
      end`),
  )
}

/** Expires all reservations. */
export function passDeadlines(dataDir: string): void {
  inStore(dataDir, (store) => store.exec('update reservations set expires_at = 1'))
}

export function reservationsIn(dataDir: string): number {
  return Number(rowsOf(dataDir, 'select count(*) count from reservations')[0]!['count'])
}

export function rowsOf(dataDir: string, text: string): Row[] {
  return inStore(dataDir, (store) => store.prepare(text).all())
}

function inStore<T>(dataDir: string, run: (store: DatabaseSync) => T): T {
  const store = new DatabaseSync(join(dataDir, 'gateway.db'), { timeout: 10_000 })
  try {
    return run(store)
  } finally {
    store.close()
  }
}

const summed = ['cost_nano_usd', 'input_tokens', 'output_tokens', 'images', 'duration_ms']
const sums = summed.map((name) => `coalesce(sum(${name}), 0)`).join(` || ' ' || `)

/** Inconsistencies between ledger, hourly sums and budgets of a store, after all calls ended. */
export function ledgerFaults(dataDir: string): string[] {
  const differ = (what: string, text: string) =>
    rowsOf(dataDir, text).map((row) => `${what}: ${JSON.stringify(row)}`)
  const perAccount = (table: string, count: string) =>
    `select account_id, mode, ${count} calls, ${sums} sums from ${table} group by account_id, mode`
  const [rows, hours] = [perAccount('usage', 'count(*)'), perAccount('usage_hours', 'sum(calls)')]
  return [
    ...differ('A row is recorded twice', 'select id from usage group by id having count(*) > 1'),
    ...differ('Rows are missing in the hourly sums', `${rows} except ${hours}`),
    ...differ('Hourly sums differ from the rows', `${hours} except ${rows}`),
    ...differ('A budget window differs from the cost of its calls', windowsThatDiffer),
    ...differ(
      'A budget window still has reservations',
      'select * from budget_windows where reserved_nano_usd <> 0',
    ),
    ...differ(
      'A call cost more than its reservation',
      `select id, model, cost_nano_usd, nano_usd from usage join noted_reservations on request_id = id
       where cost_nano_usd > nano_usd`,
    ),
  ]
}

/** The query counts the reservation of a call whose cost is unknown, since the budget is charged with it. */
const windowsThatDiffer = `
  select owner_id, ends_at, spent_nano_usd, rows from (
    select *, (
      select coalesce(sum(coalesce(
        cost_nano_usd,
        (select nano_usd from noted_reservations where request_id = usage.id), 0)), 0)
      from usage
      where mode = 'live' and at >= starts_at and at < ends_at
        and owner_id in (account_id, key_id)) rows
    from budget_windows)
  where spent_nano_usd <> rows`
