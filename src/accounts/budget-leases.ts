import { sql, type Kysely } from 'kysely'
import type { CallMark, CallMarks } from '../storage/call-marks.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { Tables } from '../storage/tables.ts'
import { kindOf } from './budget-owners.ts'
import { windowName, type OwnedWindow } from './spendings.ts'
import { sweepAgain } from './sweep.ts'

const unleased = {
  /** Leased money that no call holds, and that calls hold, in nano-dollars. */
  free: 0,
  held: 0,
  /** The most that calls needed at once of late; and since the last look calls, the dearest one, their cost, what did not fit. */
  peak: 0,
  calls: 0,
  call: 0,
  spent: 0,
  missed: 0,
  /** What was left of the budget at the last look, and the amount of the budget then. */
  remaining: Infinity,
  of: NaN,
  /** Unix time in milliseconds; 0 before the store may have the lease. */
  renewedAt: 0,
}

/** A budget that this process makes calls with, and what it leases of it. */
type Lease = typeof unleased & { owner: OwnedWindow }

type Options = {
  store: Pick<GuardedStore, 'db' | 'dialect' | 'journalRows'>
  /** Without marks nothing is leased: a call would leave no trace when its process is killed. */
  marks?: Pick<CallMarks, 'set' | 'touch'> | undefined
}

const lookMs = 250
/** Calls of a process between two looks from which it leases: fewer hardly wait for each other. */
const busyCallsMin = 2
const leasesMax = 256
/** Far less than the time after which another process takes what this one left (storage/call-marks.ts). */
const freshMs = 30_000

/** What a process leases of budgets on PostgreSQL (docs/storage.md#budgets), so that its calls wait for no other process. */
export function createBudgetLeases({ store: { db, dialect, journalRows }, marks }: Options) {
  const leases = new Map<string, Lease>()
  /** Ends of calls whose rows may be in the journal: the windows lack their cost. Each has a mark, so they are bounded. */
  const journaled: (() => void)[] = []
  let isClosed = false
  let calls = 0
  let looks = 0
  let process: string | undefined

  const look = async (): Promise<boolean> => {
    if (journalRows() > 0) return false
    for (const end of journaled.splice(0)) end()
    if (leases.size === 0) return false
    // Another process has taken the marks of this one, and its leases.
    if (process !== (process = marks?.touch())) leases.clear()
    if (process === undefined) return false
    const state = { process, renewals: ++looks, isBusy: calls >= busyCallsMin, isClosed }
    const asked = [...leases].flatMap(([name, lease]) => toAsked(name, lease, state) ?? [])
    for (const [name, { renewedAt }] of leases) if (renewedAt === 0) leases.delete(name)
    calls = 0
    if (asked.length > 0) await ask(db, leases, asked)
    return false
  }
  // A failed look leaves more in the store than the process uses.
  const looking = sweepAgain(look, { intervalMs: lookMs, onSwept: () => undefined })
  const leaseOf = (owner: OwnedWindow): Lease => {
    const name = windowName(owner)
    const lease = leases.get(name) ?? { ...unleased, owner }
    if (leases.size < leasesMax) leases.set(name, lease)
    return lease
  }
  return {
    /**
     * Takes the money of a call from leases if each has enough; returns a function for its cost, to be called after its
     * row is durable. A mark has no tags, so calls that count in budgets of tags reserve in the windows.
     */
    take: (owners: readonly OwnedWindow[], row: Tables['reservations']) => {
      if (dialect === 'sqlite' || marks === undefined) return undefined
      if (owners.some((owner) => kindOf(owner) === 'tag')) return undefined
      const { request_id: id, nano_usd: nanoUsd } = row
      const all = owners.map(leaseOf)
      calls++
      const covers = owners.every((owner, index) => doesCover(all[index]!, owner, nanoUsd))
      const unmark = covers ? marks.set({ ...row, id } as CallMark) : undefined
      const isLeased = unmark !== undefined
      for (const [index, owner] of owners.entries())
        count(all[index]!, { owner, nanoUsd, isLeased })
      if (unmark === undefined) return undefined
      return (cost: number) => {
        const end = () => endCall(all, { nanoUsd, cost, unmark })
        if (journalRows() > 0) journaled.push(end)
        else end()
      }
    },
    /** Leased money that no call holds. */
    free: () => leases.values().reduce((sum, { free }) => sum + free, 0),
    /** Returns all leases, but not what calls without a written row hold; resolves with whether none is left. */
    close: async (): Promise<boolean> => {
      looking.close()
      isClosed = true
      // The first may be a look that had begun before.
      await looking.look()
      await looking.look()
      return leases.size === 0
    },
  }
}

function doesCover(lease: Lease, { budget }: OwnedWindow, nanoUsd: number): boolean {
  // A process that was frozen, or whose machine slept, may have lost the lease.
  const isFresh = Math.abs(Date.now() - lease.renewedAt) < freshMs
  return isFresh && lease.free >= nanoUsd && lease.of === budget.nanoUsd
}

type Taken = { owner: OwnedWindow; nanoUsd: number; isLeased: boolean }

function count(lease: Lease, { owner, nanoUsd, isLeased }: Taken): void {
  lease.owner = owner
  lease.call = lease.calls++ === 0 ? nanoUsd : Math.max(lease.call, nanoUsd)
  lease.free -= isLeased ? nanoUsd : 0
  lease.held += isLeased ? nanoUsd : 0
  lease.missed += isLeased ? 0 : nanoUsd
  lease.peak = Math.max(lease.peak, lease.held + lease.missed)
}

type Ended = { nanoUsd: number; cost: number; unmark: (clears: boolean) => void }

function endCall(all: readonly Lease[], { nanoUsd, cost, unmark }: Ended): void {
  // The mark of a call without a row would charge it when the process is killed.
  unmark(cost === 0)
  for (const lease of all) {
    lease.held -= nanoUsd
    lease.free += nanoUsd - cost
    lease.spent += cost
  }
}

async function ask(
  db: Kysely<Tables>,
  leases: Map<string, Lease>,
  asked: readonly Asked[],
): Promise<void> {
  const renewedAt = Date.now()
  const { rows } = await sql<{ answers: ([granted: number, remaining: number] | null)[] }>`
    select budgets_lease(${JSON.stringify(asked)}) as answers`.execute(db)
  for (const [index, { name, wanted, held }] of asked.entries()) {
    const [lease, answer] = [leases.get(name)!, rows[0]!.answers[index]]
    if (!answer || wanted + held + lease.held === 0) leases.delete(name)
    else Object.assign(lease, { free: lease.free + answer[0], remaining: answer[1], renewedAt })
  }
}

type Asked = NonNullable<ReturnType<typeof toAsked>>
type State = { process: string; renewals: number; isBusy: boolean; isClosed: boolean }

/** What a look asks for: what the calls of late need, and less near the edge of the budget. */
function toAsked(name: string, lease: Lease, { isBusy, isClosed, ...state }: State) {
  const { owner, held, calls, call, peak, spent, remaining, renewedAt } = lease
  const { ownerId: owner_id, budget, window } = owner
  // For the calls that ran at once, one more, and the spending of a second.
  const isWanted = calls > 0 && !isClosed
  const wanted = isWanted ? Math.ceil(peak - held + call + (spent * 1000) / lookMs) : 0
  // What was granted of an amount that has changed since is returned, too.
  const old = lease.of === budget.nanoUsd ? lease.free : 0
  const edge = (remaining + old) / 8
  const free = Math.floor(Math.max(0, Math.min(old, wanted, edge < call ? 0 : edge)))
  const isNew = renewedAt === 0
  const later = { free, of: budget.nanoUsd, peak: Math.max(held, peak * 0.9) }
  Object.assign(lease, later, { calls: 0, spent: 0, missed: 0 })
  if (isNew && (!isBusy || wanted === 0)) return undefined
  // Without an answer the store may have the lease too.
  lease.renewedAt ||= 1
  const key = { owner_id, ends_at: window.endsAt, starts_at: window.startsAt }
  const money = { budget: budget.nanoUsd, held, free, wanted, call }
  return { name, ...key, ...state, ...money, is_new: isNew }
}
