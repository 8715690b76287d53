import { sql, type Kysely, type RawBuilder } from 'kysely'
import { clocksDifferMaxMs } from '../core/time.ts'
import type { Tables } from '../storage/tables.ts'

/** Periodic maintenance of the store. */
export type Sweep = ReturnType<typeof sweepAgain>

type Options = {
  intervalMs: number
  /** Called after each sweep; `error` is the reason if the sweep failed. */
  onSwept: (error?: unknown) => void
}

/**
 * Runs `work` every `intervalMs`, one run at a time, until it is closed. `work` resolves with whether this
 * process did the work; another process may have taken the turn.
 */
export function sweepAgain(work: () => Promise<boolean>, { intervalMs, onSwept }: Options) {
  let running: Promise<unknown> | undefined
  let closed = false
  const look = async () => {
    running ??= work()
      .then((wasOurs) => {
        if (wasOurs) onSwept()
      })
      .catch((error: unknown) => {
        // The store may have closed during the last sweep.
        if (!closed) onSwept(error)
      })
      .finally(() => (running = undefined))
    await running
  }
  const timer = setInterval(() => void look(), intervalMs).unref()
  return {
    /** Sweeps now, or waits for the running sweep. Never rejects. */
    look,
    close: () => {
      closed = true
      clearInterval(timer)
    },
  }
}

/**
 * Whether this process does the work now, and not another one within the interval. A timestamp in the
 * future, from a clock set back, does not stop the work.
 */
export async function takeTurn(
  db: Kysely<Tables>,
  work: string,
  now: number,
  intervalMs: number,
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('write_checks')
    .values({ id: work, at: now })
    .onConflict((one) =>
      one
        .column('id')
        .doUpdateSet({ at: now })
        .where(({ eb, or }) =>
          or([
            eb('write_checks.at', '<=', now - intervalMs),
            eb('write_checks.at', '>', now + clocksDifferMaxMs),
          ]),
        ),
    )
    .executeTakeFirst()
  return numInsertedOrUpdatedRows !== 0n
}

/** Rows that one statement removes: few enough not to delay other queries. */
const removedRowsMax = 500

/** Removes the rows that fulfil a condition, in batches, while there is time. */
export async function removeRows(
  db: Kysely<Tables>,
  table: 'alerts' | 'audit_events' | 'image_jobs' | 'picture_files' | 'webhook_deliveries',
  condition: RawBuilder<unknown>,
  hasTime: () => boolean = () => true,
): Promise<void> {
  const of = sql.table(table)
  for (let rows = removedRowsMax; rows === removedRowsMax && hasTime();) {
    const removing = sql`delete from ${of} where id in (
      select id from ${of} where ${condition} limit ${sql.lit(removedRowsMax)})`
    rows = Number((await removing.execute(db)).numAffectedRows)
  }
}
