import type { SqlDialect } from '../sql-dialect.ts'
import { all, locking, sameWindow, windowsOf } from './budgets.ts'
import { creating, creatingDeltas, integer, integerOrZero, text, type Table } from './columns.ts'
import { takenBack } from './usage-deltas.ts'

const window = { owner_id: text, ends_at: integer, starts_at: integer }
const key = Object.keys(window)

/** Money of budgets that processes hold for their next calls (accounts/budget-leases.ts); empty on SQLite. */
export const leaseTables = {
  budget_leases: {
    columns: {
      ...window,
      process: text,
      nano_usd: integer,
      renewals: integer,
      renewed_at: integer,
    },
    key: { budget_leases_key: [...key, 'process'] },
  },
} satisfies Record<string, Table>

/** Appends the sum of rows for each of their windows. The lock excludes openings of windows, which would miss the rows. */
const append = (column: string, amount: string, rows: string) => `
  perform pg_advisory_xact_lock_shared(one.name)
  from (select distinct hashtextextended(account_id, 0) as name from ${rows} as r order by 1) as one;
  insert into budget_deltas (owner_id, ends_at, starts_at, ${column})
  select w.owner_id, w.ends_at, w.starts_at, sum(${amount}) from ${windowsOf(`${rows} as r`, all)}
  group by 1, 2, 3 having sum(${amount}) <> 0;`

/** Adds to windows what triggers have appended for them, up to 20,000 deltas each; `windows` are locked. */
export const folding = (windows: string): string => `
  with folded as (
    delete from budget_deltas as d using (${windows}) as o
    cross join lateral (select id from budget_deltas as i where ${sameWindow('i', 'o')} limit 20000) as part
    where d.id = part.id
    returning d.*
  )
  update budget_window_sums as w set spent_nano_usd = w.spent_nano_usd + c.spent,
    reserved_nano_usd = w.reserved_nano_usd + c.reserved
  from (
    select owner_id, ends_at, starts_at, sum(spent_nano_usd) as spent, sum(reserved_nano_usd) as reserved
    from folded group by 1, 2, 3
  ) as c where ${sameWindow('w', 'c')};`

const summed = (column: string, from: string) =>
  `cast((select coalesce(sum(${column}), 0) from ${from} as d where ${sameWindow('d', 's')}) as bigint)`

const replacing = (name: string, body: string) => `
  create or replace function ${name} language plpgsql as $$ ${body} $$`
const trigger = (name: string, body: string) =>
  replacing(`${name}() returns trigger`, `begin ${body} end`)

const live = `(select * from added where mode = 'live')`
const settled = `reservations where request_id in (select id from ${live} as a)`

/** The statements after which processes may lease budgets. */
export function leasingBudgets(dialect: SqlDialect): readonly string[] {
  const leases = creating(dialect, 'budget_leases', leaseTables.budget_leases)
  return dialect === 'sqlite' ? leases : [...leases, ...appendingBudgets]
}

/**
 * The statements after which PostgreSQL's triggers append what calls reserve and spend, and lock no window.
 * `budget_windows` becomes a view of sums, deltas and leases: its readers, those of older gateways too, find exact sums in
 * one snapshot. Only what takes money locks windows, in the order of their key: reservations and leases.
 */
const appendingBudgets: readonly string[] = [
  // Waits for running inserts, whose triggers write to the table by its old name.
  'lock table usage in share row exclusive mode',
  'alter table budget_windows rename to budget_window_sums',
  ...creatingDeltas('budget_deltas', {
    columns: { ...window, spent_nano_usd: integerOrZero, reserved_nano_usd: integerOrZero },
    indexes: { budget_deltas_window: key },
  }),
  `create view budget_windows as select owner_id, starts_at, ends_at,
     spent_nano_usd + ${summed('spent_nano_usd', 'budget_deltas')} as spent_nano_usd,
     reserved_nano_usd + ${summed('reserved_nano_usd', 'budget_deltas')}
       + ${summed('nano_usd', 'budget_leases')} as reserved_nano_usd
   from budget_window_sums as s`,
  trigger(
    'budget_window_opened',
    `insert into budget_window_sums select new.* on conflict do nothing;
     -- Those of a window that was deleted before.
     if found then delete from budget_deltas as d where ${sameWindow('d', 'new')}; end if;
     return new;`,
  ),
  `create trigger budget_window_opened instead of insert on budget_windows
   for each row execute function budget_window_opened()`,
  // Older gateways fold nothing else.
  locking(all, folding).replace('create function', 'create or replace function'),
  trigger('reservation_made', `${append('reserved_nano_usd', 'r.nano_usd', 'added')} return null;`),
  trigger(
    'reservation_ended',
    `${append('reserved_nano_usd', '-r.nano_usd', 'ended')} return null;`,
  ),
  trigger(
    'usage_settled',
    `perform 1 from ${settled} order by request_id for update;
     -- A call of unknown cost is charged its reserved amount.
     ${append('spent_nano_usd', `coalesce(r.cost_nano_usd, (select nano_usd from reservations where request_id = r.id), 0)`, live)}
     delete from ${settled};
     return null;`,
  ),
  trigger(
    'usage_taken_back',
    `${takenBack} ${append('spent_nano_usd', '-r.cost_nano_usd', '(select old.*)')} return null;`,
  ),
  // Sets leases to what their process holds, and adds to them. Null for one that was taken from the process.
  replacing(
    'budgets_lease(asked json) returns json',
    `declare
       a record;
       own budget_leases;
       remaining bigint;
       granted bigint;
       answers json[] := '{}';
     begin
       perform 1 from budget_window_sums as s
       join json_to_recordset(asked) as r (owner_id text, ends_at bigint, starts_at bigint) on ${sameWindow('r', 's')}
       order by s.owner_id, s.ends_at, s.starts_at for update of s;
       for a in select * from json_to_recordset(asked) as r (owner_id text, ends_at bigint, starts_at bigint,
         process text, budget bigint, held bigint, free bigint, wanted bigint, call bigint, renewals bigint, is_new boolean)
       loop
         answers := answers || 'null'::json;
         select * into own from budget_leases as l where ${sameWindow('l', 'a')} and process = a.process for update;
         -- A statement that a frozen server runs late, after a newer one, changes nothing.
         continue when case when found then own.renewals >= a.renewals else not a.is_new end;
         select a.budget - spent_nano_usd - reserved_nano_usd + coalesce(own.nano_usd, 0) - a.held - a.free
         into remaining from budget_windows as w where ${sameWindow('w', 'a')};
         continue when not found;
         -- At most an eighth, so that the other processes find money too, and nothing that is too little for a call.
         granted := greatest(0, least(a.wanted - a.free, remaining / 8));
         if a.free + granted < a.call then granted := 0; end if;
         insert into budget_leases as l (owner_id, ends_at, starts_at, process, nano_usd, renewals, renewed_at)
         values (a.owner_id, a.ends_at, a.starts_at, a.process, a.held + a.free + granted, a.renewals,
           extract(epoch from clock_timestamp()) * 1000)
         on conflict (owner_id, ends_at, starts_at, process) do update
         set nano_usd = excluded.nano_usd, renewals = excluded.renewals, renewed_at = excluded.renewed_at;
         answers[cardinality(answers)] := json_build_array(granted, remaining - granted);
       end loop;
       return array_to_json(answers);
     end`,
  ),
]
