import type { SqlDialect } from '../sql-dialect.ts'
import { dimensions, dimensionsOf } from './usage-hours.ts'

/**
 * The statements that create the triggers of budgets: reservations count in the budget windows, and the row of a
 * call settles its reservation in the transaction that adds the row (docs/storage.md#budgets).
 */
export function countingBudgets(dialect: SqlDialect): readonly string[] {
  return dialect === 'sqlite' ? triggers(first) : [...functions(first), ...takingBack]
}

/**
 * The statements after which calls also count in the windows of the person who made their key, and of the tags of the
 * key. `sums` are the sums from which PostgreSQL takes a row back.
 */
export function countingPeople(dialect: SqlDialect, sums: string): readonly string[] {
  if (dialect === 'sqlite') {
    const names = ['reservation_made', 'reservation_ended', 'usage_settled', 'usage_taken_back']
    return [...names.map((name) => `drop trigger ${name}`), ...triggers(all)]
  }
  const replaced = functions(all)
    .filter((statement) => statement.includes('create function'))
    .map((statement) => statement.replace('create function', 'create or replace function'))
  return [
    ...replaced,
    takingBackFrom(sums, all),
    'drop function budgets_lock(text[], text[], bigint[])',
  ]
}

/** How the owners of the windows that include a ledger row are found; each has its account and its key. */
export type Owners = {
  /** SQL for the owners of a row, beside the account and the key. */
  more: (row: 'new' | 'old') => string
  /** The same for rows `r` with their keys `k`. */
  moreOfRows: string
  /** The given SQL if rows have tags, which have windows too. */
  tags: (text: string) => string
}

/** The owners in version 0.1. */
const first: Owners = { more: () => '', moreOfRows: '', tags: () => '' }
/** Since migration 0043 also people and tags (accounts/budget-owners.ts). */
export const all: Owners = {
  more: (row) =>
    `, ${row}.account_id || ':' || (select created_by from api_keys where id = ${row}.key_id)`,
  moreOfRows: `, (r.account_id || ':' || k.created_by)`,
  tags: (text) => text,
}

const countedKey = (row: 'new' | 'old') =>
  `coalesce((select counts_with from api_keys where id = ${row}.key_id), ${row}.key_id)`

/** SQL that changes the windows in which a ledger row counts. */
function changing(change: string, row: 'new' | 'old', owners: Owners, dialect: SqlDialect): string {
  const statement = (among: string) => `
    update budget_windows set ${change}
    where ${among} and ends_at > ${row}.at and starts_at <= ${row}.at;`
  const own = `owner_id in (${row}.account_id, ${countedKey(row)}${owners.more(row)})`
  const tags =
    dialect === 'sqlite'
      ? `json_each(${row}.tags) as tags`
      : `json_array_elements_text(${row}.tags::json) as tags (value)`
  // Their statement ends at its first condition for a call without tags.
  const tagged = `${row}.tags is not null
    and owner_id in (select ${countedKey(row)} || '#' || tags.value from ${tags})`
  return statement(own) + owners.tags(statement(tagged))
}

/** A row that a sweep wrote for a call of a dead process (accounts/reservation-sweep.ts). */
export const isProvisional = `old.outcome = 'unknown' and old.attempts = '[]'`
const amount = 'coalesce(old.cost_nano_usd, 0)'

const places = dimensionsOf('old.')
const sameHour = dimensions.map((name, index) => `${name} = ${places[index]}`).join(' and ')

const hours = `
  update usage_hours
  set calls = calls - 1, cost_nano_usd = cost_nano_usd - ${amount},
    unpriced_calls = unpriced_calls - case when old.cost_nano_usd is null then 1 else 0 end
  where ${sameHour};
  delete from usage_hours where calls = 0 and ${sameHour};`

const windows = (owners: Owners, dialect: SqlDialect) =>
  changing(`spent_nano_usd = spent_nano_usd - ${amount}`, 'old', owners, dialect)

const settled = `spent_nano_usd = spent_nano_usd + coalesce(
  new.cost_nano_usd, (select nano_usd from reservations where request_id = new.id), 0)`

/** SQLite's triggers, which run for each row. */
const triggers = (owners: Owners) => [
  `create trigger reservation_made after insert on reservations for each row begin
     ${changing('reserved_nano_usd = reserved_nano_usd + new.nano_usd', 'new', owners, 'sqlite')}
   end`,
  `create trigger reservation_ended after delete on reservations for each row begin
     ${changing('reserved_nano_usd = reserved_nano_usd - old.nano_usd', 'old', owners, 'sqlite')}
   end`,
  // A call of unknown cost is charged its reserved amount. In a store without budgets a row settles nothing, which
  // costs a fifth less than to look for each window.
  `create trigger usage_settled after insert on usage for each row
   when (new.mode = 'live' and (exists (select 1 from budget_windows)
     or exists (select 1 from reservations)))
   begin
     ${changing(settled, 'new', owners, 'sqlite')}
     delete from reservations where request_id = new.id;
   end`,
  // After a process has ended, its calls have provisional rows; the row of the call itself deletes this one
  // (storage/replay.ts), which subtracts it from the sums.
  `create trigger usage_taken_back after delete on usage for each row when ${isProvisional}
   begin ${hours} ${windows(owners, 'sqlite')} end`,
]

/** Replaces the trigger that takes back provisional rows: it ignored those without an amount. */
export function takingBackAnew(dialect: SqlDialect): readonly string[] {
  if (dialect === 'sqlite') return ['drop trigger usage_taken_back', triggers(first).at(-1)!]
  return [
    'drop trigger usage_taken_back on usage',
    'drop function usage_taken_back()',
    ...takingBack,
  ]
}

/** PostgreSQL's function of the last trigger; `sums` subtracts the row from the sums. */
export const takingBackFrom = (sums: string, owners = first): string => `
   create or replace function usage_taken_back() returns trigger language plpgsql as $$
   begin
     ${sums}
     perform budgets_lock(array[old.account_id], array[old.key_id], array[old.at]${owners.tags(', array[old.tags]')});
     ${windows(owners, 'postgres')}
     return null;
   end $$`

const takingBack = [
  takingBackFrom(hours),
  `create trigger usage_taken_back after delete on usage
   for each row when (${isProvisional}) execute function usage_taken_back()`,
]

/** SQL for the owners of the windows that include the rows; several keys may share one owner. */
export const windowsOf = (rows: string, { moreOfRows, tags }: Owners) => `
  ${rows}
  left join api_keys as k on k.id = r.key_id
  cross join lateral (
    values (r.account_id), (coalesce(k.counts_with, r.key_id))${moreOfRows}
    ${tags(`union all select coalesce(k.counts_with, r.key_id) || '#' || tag
      from json_array_elements_text(r.tags::json) as tag`)}) as o (owner_id)
  join budget_windows as w
    on w.owner_id = o.owner_id and w.ends_at > r.at and w.starts_at <= r.at`

/** SQL for whether two rows are of the same window. */
export const sameWindow = (a: string, b: string): string =>
  ['owner_id', 'ends_at', 'starts_at'].map((name) => `${a}.${name} = ${b}.${name}`).join(' and ')

/** Creates the function that locks the windows of rows; it then runs `more`, which gets SQL for the windows. */
export const locking = (owners: Owners, more = (_windows: string) => '') => {
  const windows = windowsOf(
    `unnest(account_ids, key_ids, ats${owners.tags(', tag_lists')})
       as r (account_id, key_id, at${owners.tags(', tags')})`,
    owners,
  )
  return `
   create function budgets_lock(account_ids text[], key_ids text[], ats bigint[]${owners.tags(', tag_lists text[]')})
   returns void language plpgsql as $$
   begin
     perform pg_advisory_xact_lock_shared(one.name) from (
       select distinct hashtextextended(id, 0) as name
       from unnest(account_ids) as id order by 1
     ) as one;
     perform 1 from ${windows}
     order by w.owner_id, w.ends_at, w.starts_at for update of w;
     ${more(`select distinct w.owner_id, w.ends_at, w.starts_at from ${windows}`)}
   end $$`
}

/** Adds the sum of rows to a column of their windows, updating each window once. */
const add = (owners: Owners, column: string, amount: string, rows: string) => `
  update budget_windows as w set ${column} = w.${column} + c.nano_usd
  from (
    select w.owner_id, w.ends_at, w.starts_at, sum(${amount}) as nano_usd
    from ${windowsOf(`${rows} as r`, owners)} group by 1, 2, 3
  ) as c where ${sameWindow('w', 'c')};`

/** Locks the windows of the statement's rows in a fixed order; `rows` have account, key and time. */
const lock = (owners: Owners, rows: string) => `
  perform budgets_lock(array_agg(account_id), array_agg(key_id), array_agg(at)${owners.tags(', array_agg(tags)')}) from ${rows};`

const trigger = (name: string, on: string, body: string) => {
  const [table, rows] = on.includes('delete') ? ['old', 'ended'] : ['new', 'added']
  return [
    `create function ${name}() returns trigger language plpgsql as $$
     begin ${body} return null; end $$`,
    `create trigger ${name} after ${on} referencing ${table} table as ${rows}
     for each statement execute function ${name}()`,
  ]
}

/**
 * PostgreSQL's functions and triggers, which run once per statement. A transaction locks all windows
 * that it changes in the order of their key, and holds them until its end: concurrent calls wait for each
 * other without deadlocks. A shared lock on the account prevents the creation of a window meanwhile,
 * whose sums would miss uncommitted rows.
 */
const functions = (owners: Owners): readonly string[] => [
  locking(owners),
  ...trigger(
    'reservation_made',
    'insert on reservations',
    `${lock(owners, 'added')} ${add(owners, 'reserved_nano_usd', 'r.nano_usd', 'added')}`,
  ),
  ...trigger(
    'reservation_ended',
    'delete on reservations',
    `${lock(owners, 'ended')} ${add(owners, 'reserved_nano_usd', '-r.nano_usd', 'ended')}`,
  ),
  // Sorts after `usage_hours_add`, so that the hourly sums are locked first.
  ...trigger(
    'usage_settled',
    'insert on usage',
    `if not exists (select 1 from added where mode = 'live') then return null; end if;
     perform 1 from reservations
     where request_id in (select id from added where mode = 'live')
     order by request_id for update;
     ${lock(owners, "added where mode = 'live'")}
     ${add(
       owners,
       'spent_nano_usd',
       // A call of unknown cost is charged its reserved amount.
       `coalesce(r.cost_nano_usd,
          (select nano_usd from reservations where request_id = r.id), 0)`,
       `(select * from added where mode = 'live')`,
     )}
     delete from reservations
     where request_id in (select id from added where mode = 'live');`,
  ),
  reserving(owners),
]

const reserving = (owners: Owners) => `
   create function budgets_reserve(asked json) returns integer[] language plpgsql as $$
   declare
     wish record;
     used jsonb;
     granted integer[] := '{}';
     kept json[] := '{}';
     covers boolean;
   begin
     perform budgets_lock(array_agg(c.account_id), array_agg(c.key_id), array_agg(c.at)${owners.tags(', array_agg(c.tags)')})
     from json_to_recordset(asked) as c (account_id text, key_id text, at bigint${owners.tags(', tags text')});
     select coalesce(jsonb_object_agg(concat_ws(' ', w.owner_id, w.ends_at, w.starts_at),
       w.spent_nano_usd + w.reserved_nano_usd), '{}') into used
     from (
       select distinct o.owner_id, o.ends_at, o.starts_at from json_array_elements(asked) as a (wish),
         json_to_recordset(a.wish->'windows') as o (owner_id text, ends_at bigint, starts_at bigint)
     ) as c join budget_windows as w on ${sameWindow('w', 'c')};
     for wish in
       select a.wish, (a.wish->>'nano_usd')::bigint as nano_usd,
         exists (select 1 from reservations where request_id = a.wish->>'request_id') as is_there,
         array(
           select concat_ws(' ', o.owner_id, o.ends_at, o.starts_at)
           from json_to_recordset(a.wish->'windows')
             as o (owner_id text, ends_at bigint, starts_at bigint)
         ) as names,
         array(
           select o.nano_usd from json_to_recordset(a.wish->'windows') as o (nano_usd bigint)
         ) as most
       from json_array_elements(asked) with ordinality as a (wish, place) order by a.place
     loop
       -- A reservation that exists was granted, and its answer was lost.
       if wish.is_there then
         granted := granted || 1;
         continue;
       end if;
       select coalesce(bool_and(coalesce((used->>name)::numeric <= most, false)), true) into covers
       from unnest(wish.names, wish.most) as o (name, most);
       granted := granted || covers::integer;
       if not covers then continue; end if;
       kept := kept || wish.wish;
       select used || coalesce(jsonb_object_agg(name, (used->>name)::numeric + wish.nano_usd), '{}')
       into used from unnest(wish.names) as name;
     end loop;
     insert into reservations (request_id, account_id, key_id, nano_usd, at, expires_at,
       process, face, modality, model${owners.tags(', tags')})
     select r.* from unnest(kept) as one (wish), json_to_record(one.wish)
       as r (request_id text, account_id text, key_id text, nano_usd bigint, at bigint,
         expires_at bigint, process text, face text, modality text, model text${owners.tags(', tags text')});
     return granted;
   end $$`
