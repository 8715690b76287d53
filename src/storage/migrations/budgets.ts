import type { SqlDialect } from '../sql-dialect.ts'
import { functions } from './budget-functions.ts'
import { dimensions, dimensionsOf } from './usage-hours.ts'

/**
 * The statements that create the triggers of budgets: reservations count in the budget windows, and the row of a
 * call settles its reservation in the transaction that adds the row (docs/storage.md#budgets).
 */
export function countingBudgets(dialect: SqlDialect): readonly string[] {
  return dialect === 'sqlite' ? triggers : [...functions, ...takingBack]
}

/**
 * SQL for the budget windows in which a ledger row counts: those of its account, and of its key or of the
 * key with which that key counts.
 */
const windowsOf = (row: 'new' | 'old') => `
  where owner_id in (${row}.account_id, coalesce(
      (select counts_with from api_keys where id = ${row}.key_id), ${row}.key_id))
    and ends_at > ${row}.at and starts_at <= ${row}.at`

const isHeld = `old.cost_status = 'unknown' and old.cost_nano_usd is not null`

const places = dimensionsOf('old.')
const sameHour = dimensions.map((name, index) => `${name} = ${places[index]}`).join(' and ')

const hours = `
  update usage_hours
  set calls = calls - 1, cost_nano_usd = cost_nano_usd - old.cost_nano_usd where ${sameHour};
  delete from usage_hours where calls = 0 and ${sameHour};`

const windows = `
  update budget_windows set spent_nano_usd = spent_nano_usd - old.cost_nano_usd ${windowsOf('old')};`

/** SQLite's triggers, which run for each row. */
const triggers = [
  `create trigger reservation_made after insert on reservations for each row begin
     update budget_windows set reserved_nano_usd = reserved_nano_usd + new.nano_usd
     ${windowsOf('new')};
   end`,
  `create trigger reservation_ended after delete on reservations for each row begin
     update budget_windows set reserved_nano_usd = reserved_nano_usd - old.nano_usd
     ${windowsOf('old')};
   end`,
  // A call of unknown cost is charged its reserved amount. In a store without budgets a row settles nothing, which
  // costs a fifth less than to look for each window.
  `create trigger usage_settled after insert on usage for each row
   when (new.mode = 'live' and (exists (select 1 from budget_windows)
     or exists (select 1 from reservations)))
   begin
     update budget_windows set spent_nano_usd = spent_nano_usd + coalesce(
       new.cost_nano_usd, (select nano_usd from reservations where request_id = new.id), 0)
     ${windowsOf('new')};
     delete from reservations where request_id = new.id;
   end`,
  // After a process has ended, its calls have provisional rows; the row of the call itself deletes this one
  // (storage/replay.ts), which subtracts it from the sums.
  `create trigger usage_taken_back after delete on usage for each row when ${isHeld}
   begin ${hours} ${windows} end`,
]

/** PostgreSQL's form of the last trigger. */
const takingBack = [
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
