import { sql, type Kysely } from 'kysely'
import type { SqlDialect } from '../sql-dialect.ts'
import { reserveWithCall } from './budget-functions.ts'
import { windowsOf } from './budgets.ts'
import { dimensions, dimensionsOf } from './usage-hours.ts'

/**
 * What the row of a call needs whose process has ended. Such a row is taken back when that of the call
 * arrives after all (storage/replay.ts): a trigger takes it out of the sums.
 */
export async function addReservationCalls(db: Kysely<unknown>, dialect: SqlDialect): Promise<void> {
  for (const column of ['face', 'modality', 'model']) {
    await db.schema.alterTable('reservations').addColumn(column, 'text').execute()
  }
  const statements = dialect === 'sqlite' ? [sqliteTrigger] : [reserveWithCall, ...postgresTrigger]
  for (const statement of statements) await sql.raw(statement).execute(db)
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
