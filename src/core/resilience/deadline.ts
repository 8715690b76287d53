import { ProviderFailure } from '../failure.ts'
import type { ReferenceCount, Ending } from './ending.ts'

/** One time limit for a whole call. */
export type Deadline = {
  /** Aborts with a ProviderFailure: `timeout` at the deadline, or the reason of an earlier abort. */
  signal: AbortSignal
  /** The time of the deadline, in milliseconds of the clock of `startedAt`. */
  endsAt: number
  /** Clears the deadline: the call has ended. */
  clear: () => void
}

/**
 * Aborts `ending` with a `timeout` failure after `timeoutMs`, unless the deadline is cleared before;
 * `startedAt` is milliseconds of a monotonic clock.
 */
export type StartDeadline = (ending: Ending, timeoutMs: number, startedAt: number) => Deadline

type Options = {
  /** Counts the calls with a running deadline. */
  occupancy?: Pick<ReferenceCount, 'enter' | 'leave'>
  now?: () => number
}

/**
 * Deadlines that share one timer per distinct timeout. Node keeps a list of timers for each duration. With a
 * timer per call, it would create and destroy such a list for each call that runs alone.
 */
export function createDeadlines({
  occupancy,
  now = () => performance.now(),
}: Options = {}): StartDeadline {
  const queues = new Map<number, Queue>()
  const queueOf = (timeoutMs: number): Queue => {
    const known = queues.get(timeoutMs)
    if (known !== undefined) return known
    const queue = createQueue(timeoutMs, now, occupancy)
    queues.set(timeoutMs, queue)
    return queue
  }
  return (ending, timeoutMs, startedAt) => ({
    signal: ending.signal,
    endsAt: startedAt + timeoutMs,
    clear: queueOf(timeoutMs)(ending),
  })
}

/** Aborts `ending` after the timeout of the queue; the returned function cancels that. */
type Queue = (ending: Ending) => () => void

/** `index` is the place in the list of running calls; -1 when the call has ended. */
type Running = { ending: Ending; dueAt: number; index: number }

/**
 * The running calls are in an array, in no order: the tables that a `Map` replaces when entries come and go
 * keep each other, and what they held, alive until V8 marks its whole heap.
 */
function createQueue(timeoutMs: number, now: () => number, occupancy: Options['occupancy']): Queue {
  const running: Running[] = []
  let armed = false
  const arm = (delayMs: number) => {
    armed = true
    // The timer is unref'd, since it outlives its calls; open connections keep the process alive.
    setTimeout(endDue, delayMs).unref()
  }
  const remove = (one: Running): boolean => {
    if (one.index === -1) return false
    const last = running.pop()!
    if (last !== one) running[(last.index = one.index)] = last
    one.index = -1
    occupancy?.leave()
    return true
  }
  const endDue = () => {
    armed = false
    const at = now()
    for (const one of running.filter(({ dueAt }) => dueAt <= at)) {
      const failure = new ProviderFailure('timeout', `No answer within ${timeoutMs} ms.`)
      if (remove(one)) one.ending.abort(failure)
    }
    if (running.length > 0) arm(Math.ceil(Math.min(...running.map(({ dueAt }) => dueAt)) - at))
  }
  return (ending) => {
    const one = { ending, dueAt: now() + timeoutMs, index: running.length }
    running.push(one)
    occupancy?.enter()
    if (!armed) arm(timeoutMs)
    return () => {
      ending.over()
      remove(one)
    }
  }
}

/** The abort reason when the caller has disconnected. */
export function callerLeft(): ProviderFailure {
  return new ProviderFailure('cancelled', 'The client disconnected.')
}

/** The abort reason when the caller cancels the call. */
export function callerCancelled(): ProviderFailure {
  return new ProviderFailure('cancelled', 'The client cancelled the call.')
}

/** The abort reason when a call outlasts the shutdown of the gateway. */
export class GatewayStopped extends ProviderFailure {
  constructor() {
    super('cancelled', 'The gateway was stopped.')
  }
}
