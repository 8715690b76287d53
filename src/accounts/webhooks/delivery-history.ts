import { sql } from 'kysely'
import { clocksDifferMaxMs } from '../../core/time.ts'
import type { Store } from '../../storage/store.ts'
import { removeRows, sweepAgain, takeTurn, type Sweep } from '../sweep.ts'
import { pauseMaxMs } from './deliverer.ts'

type Options = {
  store: Pick<Store, 'db'>
  clock: () => number
  onSwept: (error?: unknown) => void
}

const sweepMs = 600_000
const historyMs = 30 * 86_400_000
/**
 * Deliveries of an account, pending or ended; further ones are removed, the oldest first. It is checked here and not for each
 * event, since an event is the end of a call, which costs far more than a row.
 */
const deliveriesMax = 20_000
/** Removes old deliveries, in one process at a time. */
export function sweepDeliveries({ store: { db }, clock, onSwept }: Options): Sweep {
  const sweep = async (): Promise<boolean> => {
    const now = clock()
    if (!(await takeTurn(db, 'webhook_deliveries', now, sweepMs))) return false
    // Pending ones end within a day of their schedule, unless a clock has jumped ahead.
    await removeRows(
      db,
      'webhook_deliveries',
      sql`created_at <= ${now - historyMs} and next_at is null`,
    )
    // Deliveries, which read their alert, are removed before it.
    await removeRows(db, 'alerts', sql`ends_at <= ${now - 2 * historyMs}`)
    const { rows } = await sql<{ id: string }>`select account_id as id from webhook_deliveries
      group by account_id having count(*) > ${sql.lit(deliveriesMax)}`.execute(db)
    for (const { id } of rows)
      await removeRows(
        db,
        'webhook_deliveries',
        sql`account_id = ${id} and id <= (select id from webhook_deliveries where account_id = ${id}
          order by id desc limit 1 offset ${sql.lit(deliveriesMax)})`,
      )
    // A clock that was set back would delay them for as long.
    await db
      .updateTable('webhook_deliveries')
      .set({ next_at: now })
      .where('next_at', '>', now)
      .where((one) =>
        one.or([
          one('next_at', '>', now + pauseMaxMs + clocksDifferMaxMs),
          one('created_at', '>', now + clocksDifferMaxMs),
        ]),
      )
      .execute()
    return true
  }
  return sweepAgain(sweep, { intervalMs: sweepMs, onSwept })
}
