import { sql, type Kysely } from 'kysely'
import type { SqlDialect } from '../sql-dialect.ts'
import { functions, reserveWithProcess, reserveWithCall } from './budget-functions.ts'
import { dimensions, dimensionsOf } from './usage-hours.ts'

/**
 * Amounts that accounts and keys spent in a period, and reservations for calls in progress. Triggers
 * settle a reservation in the transaction that adds the row of its call to the ledger
 * (docs/storage.md#budgets).
 */
export async function createBudgets(db: Kysely<unknown>, dialect: SqlDialect): Promise<void> {
  await db.schema
    .createTable('budget_windows')
    .addColumn('owner_id', 'text', (column) => column.notNull())
    .addColumn('starts_at', 'bigint', (column) => column.notNull())
    .addColumn('ends_at', 'bigint', (column) => column.notNull())
    .addColumn('spent_nano_usd', 'bigint', (column) => column.notNull())
    .addColumn('reserved_nano_usd', 'bigint', (column) => column.notNull())
    // The end comes first: queries read an owner's few windows that have not ended.
    .addPrimaryKeyConstraint('budget_windows_key', ['owner_id', 'ends_at', 'starts_at'])
    .execute()
  await db.schema
    .createTable('reservations')
    .addColumn('request_id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('nano_usd', 'bigint', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute()
  const statements = dialect === 'sqlite' ? Object.entries(triggers).map(triggerOf) : functions
  for (const statement of statements) await sql.raw(statement).execute(db)
}

type Trigger = { after: string; when?: string; run: readonly string[] }

/**
 * SQL for the budget windows in which a ledger row counts: those of its account, and of its key or of the
 * key with which that key counts.
 */
const windowsOf = (row: 'new' | 'old') => `
  where owner_id in (${row}.account_id, coalesce(
      (select counts_with from api_keys where id = ${row}.key_id), ${row}.key_id))
    and ends_at > ${row}.at and starts_at <= ${row}.at`

/** SQLite's triggers, which run for each row. */
const triggers = {
  reservation_made: {
    after: 'insert on reservations',
    run: [
      `update budget_windows set reserved_nano_usd = reserved_nano_usd + new.nano_usd
       ${windowsOf('new')}`,
    ],
  },
  reservation_ended: {
    after: 'delete on reservations',
    run: [
      `update budget_windows set reserved_nano_usd = reserved_nano_usd - old.nano_usd
       ${windowsOf('old')}`,
    ],
  },
  // A call of unknown cost is charged its reserved amount.
  usage_settled: {
    after: 'insert on usage',
    when: `new.mode = 'live'`,
    run: [
      `update budget_windows set spent_nano_usd = spent_nano_usd + coalesce(
         new.cost_nano_usd,
         (select nano_usd from reservations where request_id = new.id),
         0)
       ${windowsOf('new')}`,
      `delete from reservations where request_id = new.id`,
    ],
  },
} satisfies Record<string, Trigger>

function triggerOf([name, { after, when, run }]: [string, Trigger]): string {
  const condition = when === undefined ? '' : `when (${when})`
  return `create trigger ${name} after ${after} for each row ${condition}
    begin ${run.map((statement) => `${statement};`).join(' ')} end`
}

/** Adds the process of a call: after the process has ended, the call's reservation is settled. */
export async function addReservationProcesses(
  db: Kysely<unknown>,
  dialect: SqlDialect,
): Promise<void> {
  await db.schema.alterTable('reservations').addColumn('process', 'text').execute()
  if (dialect === 'postgres') await sql.raw(reserveWithProcess).execute(db)
}

/**
 * Adds columns for the provisional ledger row of a call whose process has ended. When the call's own row
 * arrives, the provisional row is deleted (storage/replay.ts), and a trigger subtracts it from the sums.
 */
export async function addReservationCalls(db: Kysely<unknown>, dialect: SqlDialect): Promise<void> {
  for (const column of ['face', 'modality', 'model']) {
    await db.schema.alterTable('reservations').addColumn(column, 'text').execute()
  }
  const statements = dialect === 'sqlite' ? [sqliteTrigger] : [reserveWithCall, ...postgresTrigger]
  for (const statement of statements) await sql.raw(statement).execute(db)
}

/** In a store without budgets a ledger row settles nothing, which costs a fifth less than to look for each window. */
export async function settleOnlyWithBudgets(
  db: Kysely<unknown>,
  dialect: SqlDialect,
): Promise<void> {
  if (dialect !== 'sqlite') return
  const { usage_settled: settled } = triggers
  const hasAny = ['budget_windows', 'reservations'].map(
    (table) => `exists (select 1 from ${table})`,
  )
  const when = `${settled.when} and (${hasAny.join(' or ')})`
  await sql.raw('drop trigger usage_settled').execute(db)
  await sql.raw(triggerOf(['usage_settled', { ...settled, when }])).execute(db)
}

const isHeld = `old.cost_status = 'unknown' and old.cost_nano_usd is not null`

const places = dimensionsOf('old.')
const sameHour = dimensions.map((name, index) => `${name} = ${places[index]}`).join(' and ')

const hours = `
  update usage_hours
  set calls = calls - 1, cost_nano_usd = cost_nano_usd - old.cost_nano_usd where ${sameHour};
  delete from usage_hours where calls = 0 and ${sameHour};`

const windows = `
  update budget_windows set spent_nano_usd = spent_nano_usd - old.cost_nano_usd ${windowsOf('old')};`

const sqliteTrigger = `
  create trigger usage_taken_back after delete on usage for each row when ${isHeld}
  begin ${hours} ${windows} end`

const postgresTrigger = [
  `create function usage_taken_back() returns trigger language plpgsql as $$
   begin
     ${hours}
     perform budgets_lock(array[old.account_id], array[old.key_id], array[old.at]);
     ${windows}
     return null;
   end $$`,
  `create trigger usage_taken_back after delete on usage
   for each row when (${isHeld}) execute function usage_taken_back()`,
]
