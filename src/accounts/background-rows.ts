import { sql, type Kysely, type RawBuilder } from 'kysely'
import type { Caller } from '../core/caller.ts'
import { listed, sqlDialectOf } from '../storage/sql-dialect.ts'
import type { StoreStatement } from '../storage/store.ts'
import type { Tables } from '../storage/tables.ts'

/** The tables of calls that go on without a connection; `owner` is the process of a call until it ends. */
type Table = 'image_jobs' | 'stored_responses'

/** The condition for rows that a caller may access. */
export function ofCaller(
  { accountId, keyId, mode, models }: Pick<Caller, 'accountId' | 'keyId' | 'mode' | 'models'>,
  now: number,
): RawBuilder<boolean> {
  // An API key must not get answers of models that it may not call.
  const ofKey = models === null ? sql`` : sql`and key_id = ${keyId}`
  // A running call does not expire.
  return sql`account_id = ${accountId} and mode = ${mode} ${ofKey}
    and (expires_at > ${now} or owner is not null)`
}

/** Those of these calls that have not ended. */
export async function runningCalls(
  db: Kysely<Tables>,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const among = listed(db, ids)
  const running = (table: Table) =>
    sql<{
      id: string
    }>`select id from ${sql.table(table)} where id in ${among} and owner is not null`
  const { rows } = await sql<{ id: string }>`${running('image_jobs')}
    union all ${running('stored_responses')}`.execute(db)
  return new Set(rows.map(({ id }) => id))
}

type End = {
  /** The condition for its row, which is false after the end. */
  condition: RawBuilder<unknown>
  /** The new values of columns of the table. */
  columns: object
  /** What follows from the end, if the condition `isRunning` is true. */
  follow: (isRunning: RawBuilder<unknown>) => readonly RawBuilder<unknown>[]
}

/**
 * The statements that end a call, for one transaction. The last one changes no row if the call has ended before, or
 * was deleted.
 */
export function ending(
  db: Kysely<Tables>,
  table: Table,
  { condition, columns, follow }: End,
): StoreStatement[] {
  const update = (set: object) => {
    // Both tables have the columns that are named here.
    const rows = db.updateTable(table as 'image_jobs')
    return rows.set(set).where(condition as RawBuilder<boolean>)
  }
  const isRunning = sql`exists (select 1 from ${sql.table(table)} where ${condition})`
  // No other process may end the call before the last statement; SQLite has one transaction at a time.
  const lock = sqlDialectOf(db) === 'sqlite' ? [] : [update({ key_id: sql.ref('key_id') })]
  return [...lock, ...follow(isRunning), update({ ...columns, owner: null })].map((one) =>
    one.compile(db),
  )
}
