import { sql } from 'kysely'
import { releasedOwner } from './image-jobs.ts'
import { hasEnded, processName } from '../storage/process-name.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import { sweepAgain, type Sweep } from './sweep.ts'

type Options = {
  store: GuardedStore
  clock: () => number
  intervalMs: number
  /** Whether this process executes calls that another process would have to finish. */
  isBusy: () => boolean
  /** Takes over the calls of a process that has ended. */
  adopt: (owner: string) => Promise<void>
  onSwept: (error?: unknown) => void
}

/**
 * Looks at the store in which the lease of a process does not change before the process counts as ended. Looks
 * are counted and not time, since clocks jump, and nothing can be renewed while the store is away.
 */
const looksMax = 5

/** Renews the lease of this process while it is busy, and takes over the calls of processes that have ended. */
export function createProcessLeases(options: Options): Sweep {
  const { store, clock, intervalMs, isBusy, adopt, onSwept } = options
  const { db } = store
  let beats = 0
  let seen = new Map<string, { beats: number | null; looks: number }>()

  const renew = async () => {
    const lease = { beats: ++beats, renewed_at: clock() }
    await db
      .insertInto('process_leases')
      .values({ name: processName, ...lease })
      .onConflict((conflict) => conflict.column('name').doUpdateSet(lease))
      .execute()
  }
  const look = async (): Promise<boolean> => {
    if (isBusy()) await renew()
    const { rows } = await sql<{ owner: string; beats: number | null }>`select owner, beats
      from (select owner from image_jobs where owner is not null
        union select owner from stored_responses where owner is not null) as owners
      left join process_leases on name = owner where owner <> ${processName}`.execute(db)
    const now = rows.map(({ owner, beats }) => {
      const last = seen.get(owner)
      return [owner, { beats, looks: last?.beats === beats ? last.looks + 1 : 0 }] as const
    })
    seen = new Map(now)
    const hasGone = (owner: string) => owner === releasedOwner || hasEnded(owner)
    const ended = now.filter(([owner, { looks }]) => hasGone(owner) || looks >= looksMax)
    for (const [owner] of ended) await adopt(owner)
    return ended.length > 0
  }
  return sweepAgain(look, { intervalMs, onSwept })
}
