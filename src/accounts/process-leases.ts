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
  let seen = new Map<string, { beats: number | undefined; looks: number }>()

  const renew = async () => {
    const lease = { beats: ++beats, renewed_at: clock() }
    await db
      .insertInto('process_leases')
      .values({ name: processName, ...lease })
      .onConflict((conflict) => conflict.column('name').doUpdateSet(lease))
      .execute()
  }
  /** The processes that execute calls, with the calls of this process left out. */
  const owners = async (): Promise<string[]> => {
    const jobs = db.selectFrom('image_jobs').select('owner').where('owner', 'is not', null)
    const responses = db.selectFrom('stored_responses').select('owner')
    const rows = await jobs.union(responses.where('owner', 'is not', null)).execute()
    return rows.flatMap(({ owner }) => (owner === null || owner === processName ? [] : owner))
  }
  const look = async (): Promise<boolean> => {
    if (isBusy()) await renew()
    const others = await owners()
    if (others.length === 0) {
      seen.clear()
      return false
    }
    const leases = await db.selectFrom('process_leases').selectAll().execute()
    const known = new Map(leases.map((lease) => [lease.name, lease.beats]))
    const now: typeof seen = new Map()
    for (const name of others) {
      const last = seen.get(name)
      const isSame = last !== undefined && last.beats === known.get(name)
      now.set(name, { beats: known.get(name), looks: isSame ? last.looks + 1 : 0 })
    }
    seen = now
    const hasGone = (name: string) => name === releasedOwner || hasEnded(name)
    const ended = others.filter((name) => hasGone(name) || now.get(name)!.looks >= looksMax)
    for (const name of ended) await adopt(name)
    return ended.length > 0
  }
  return sweepAgain(look, { intervalMs, onSwept })
}
