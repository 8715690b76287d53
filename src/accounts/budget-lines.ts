import { refusalOf } from './budget-errors.ts'
import { unspentOf, windowName, type OwnedWindow, type Spending } from './spendings.ts'

export type BudgetLines = ReturnType<typeof createBudgetLines>

/** A call's place in the line of a budget. */
export type Place = {
  /**
   * Resolves with true when the call is the first in its line and the budget may have money for it, and with
   * false after the longest wait. Rejects with the reason of the signal when that aborts, and with
   * `insufficient_quota` when calls before it have spent its money.
   */
  turn(): Promise<boolean>
  /** Moves the call to the line of another budget, by its arrival; false when that line is full. */
  moveTo(spending: Spending): boolean
  /** The last known state of the budget. */
  last(): Spending | undefined
  leave(): void
}

type Waiting = Waiter & { arrival: number; mayTry: boolean; look: (refusal?: Error) => void }
type Waiter = { nanoUsd: number; signal: AbortSignal; waitMaxMs: number }
type Line = { last: Spending; waiting: Waiting[] }

/** The first in a line also looks this often, since calls of other processes release money too. */
const pollMs = 250
/** Calls of a process that wait for one budget; each keeps its request in memory. */
const lineLengthMax = 256

/**
 * Lines of calls that wait for money which running calls hold, one line for each window of a budget, in the
 * order of arrival: so that small calls cannot starve a large one. No call holds one line and waits in another.
 */
export function createBudgetLines() {
  const lines = new Map<string, Line>()
  let arrivals = 0
  const wakeFirst = (name: string): void => {
    const first = lines.get(name)?.waiting[0]
    if (first === undefined) return
    first.mayTry = true
    first.look()
  }
  const remove = (name: string, one: Waiting): void => {
    const line = lines.get(name)
    const index = line?.waiting.indexOf(one) ?? -1
    if (line === undefined || index === -1) return
    line.waiting.splice(index, 1)
    if (line.waiting.length === 0) lines.delete(name)
    else if (index === 0) wakeFirst(name)
  }
  /** Inserts by arrival; returns whether the line had space. */
  const insert = (last: Spending, one: Waiting): boolean => {
    const name = windowName(last)
    const { waiting } = lines.get(name) ?? { waiting: [] }
    if (waiting.length >= lineLengthMax) return false
    const index = waiting.findIndex(({ arrival }) => arrival > one.arrival)
    waiting.splice(index === -1 ? waiting.length : index, 0, one)
    lines.set(name, { last, waiting })
    return true
  }
  return {
    /** The first of these budgets that calls already wait for, and whether its line is full. */
    find: (owners: readonly OwnedWindow[]): { last: Spending; isFull: boolean } | undefined => {
      if (lines.size === 0) return undefined
      const line = owners.map((one) => lines.get(windowName(one))).find((one) => one !== undefined)
      return line && { last: line.last, isFull: line.waiting.length >= lineLengthMax }
    },
    /** Notes what was read, and refuses each waiting call whose money is spent, so that it does not read too. */
    saw: (spending: Spending): void => {
      const line = lines.size === 0 ? undefined : lines.get(windowName(spending))
      if (line === undefined) return
      line.last = spending
      const unspent = unspentOf(spending)
      // A copy, since a refused call leaves the line.
      const refused = line.waiting.filter(({ nanoUsd }) => unspent < nanoUsd)
      for (const one of refused) one.look(refusalOf(spending, one.nanoUsd))
    },
    /** Called when a call of this process has released money of these budgets. */
    released: (owners: readonly OwnedWindow[]): void => {
      if (lines.size > 0) for (const owner of owners) wakeFirst(windowName(owner))
    },
    /** Enters the line of a budget; undefined when it is full. The place must be left. */
    enter: (spending: Spending, waiter: Waiter): Place | undefined => {
      const one: Waiting = { ...waiter, arrival: arrivals++, mayTry: false, look: () => undefined }
      if (!insert(spending, one)) return undefined
      let current = windowName(spending)
      const endsAt = performance.now() + waiter.waitMaxMs
      const isFirst = () => lines.get(current)?.waiting[0] === one
      const moveTo = (to: Spending): boolean => {
        if (windowName(to) === current) return true
        remove(current, one)
        current = windowName(to)
        return insert(to, one)
      }
      return {
        turn: () => nextTurn(one, isFirst, endsAt),
        moveTo,
        last: () => lines.get(current)?.last,
        leave: () => remove(current, one),
      }
    },
  }
}

async function nextTurn(one: Waiting, isFirst: () => boolean, endsAt: number): Promise<boolean> {
  const { signal } = one
  signal.throwIfAborted()
  if (performance.now() >= endsAt) return false
  const { promise, resolve, reject } = Promise.withResolvers<boolean>()
  one.look = (refusal) => {
    if (refusal !== undefined) reject(refusal)
    else if (one.mayTry && isFirst()) resolve(true)
  }
  const abort = () => reject(signal.reason as Error)
  signal.addEventListener('abort', abort, { once: true })
  const poll = setInterval(() => isFirst() && resolve(true), pollMs)
  const end = setTimeout(resolve, Math.max(0, endsAt - performance.now()), false)
  one.look()
  try {
    return await promise
  } finally {
    one.mayTry = false
    one.look = () => undefined
    clearInterval(poll)
    clearTimeout(end)
    signal.removeEventListener('abort', abort)
  }
}
