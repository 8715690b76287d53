import type { Ending } from './ending.ts'
import { ProviderFailure } from '../failure.ts'
import type { ReferenceCount } from './reference-count.ts'

/** One time limit for a whole call. */
export type Deadline = {
  /** Aborts with a ProviderFailure: `timeout` at the deadline, or the reason of an earlier abort. */
  signal: AbortSignal
  /** Milliseconds of the clock of `startedAt`. */
  endsAt: number
  /** The call has ended. */
  clear: () => void
}

/**
 * Aborts `ending` with a `timeout` failure after `timeoutMs`, unless it is cleared before; `startedAt` is
 * of a monotonic clock.
 */
export type StartDeadline = (ending: Ending, timeoutMs: number, startedAt: number) => Deadline

type Options = {
  /** Counts the calls with a running deadline. */
  occupancy?: Pick<ReferenceCount, 'enter' | 'leave'>
  now?: () => number
}

/**
 * Deadlines that share one timer per distinct timeout. With a timer per call, Node would create and
 * destroy its list of the timers of that duration for each call that runs alone.
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
    clear: queueOf(timeoutMs)(
      () => ending.abort(new ProviderFailure('timeout', `No answer within ${timeoutMs} ms.`)),
      ending,
    ),
  })
}

/** Runs `end` after the timeout of the queue; the returned function cancels it. */
type Queue = (end: () => void, ending: Ending) => () => void

/** All entries have the same timeout, so they are due in insertion order. */
function createQueue(timeoutMs: number, now: () => number, occupancy: Options['occupancy']): Queue {
  const dueAt = new Map<() => void, number>()
  let armed = false
  const arm = (delayMs: number) => {
    armed = true
    // Unref'd, since it outlives the calls it was set for; open connections keep the process alive.
    setTimeout(endDue, delayMs).unref()
  }
  const endDue = () => {
    armed = false
    for (const [end, time] of dueAt) {
      if (time > now()) return arm(Math.ceil(time - now()))
      dueAt.delete(end)
      end()
      occupancy?.leave()
    }
  }
  return (end, ending) => {
    dueAt.set(end, now() + timeoutMs)
    occupancy?.enter()
    if (!armed) arm(timeoutMs)
    return () => {
      ending.over()
      if (dueAt.delete(end)) occupancy?.leave()
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
export function gatewayStopped(): ProviderFailure {
  return new ProviderFailure('cancelled', 'The gateway was stopped.')
}
