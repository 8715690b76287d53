import { ProviderFailure } from './failure.ts'

/** One time limit for a whole call. */
export type Deadline = {
  /** Aborts with a ProviderFailure: `timeout` when time is up, or whatever else ended the call. */
  signal: AbortSignal
  endsAt: number
  /** Ends what is still under way for the call. */
  abort: (reason: ProviderFailure) => void
  clear: () => void
}

/** Ends a call after `timeoutMs`. */
export type StartDeadline = (
  ending: AbortController,
  timeoutMs: number,
  startedAt: number,
) => Deadline

/**
 * Deadlines of many calls. Node takes down and puts up its whole list of timers for the only one of
 * its length, which a lone call would pay for each time; here one timer serves all of a length.
 */
export function createDeadlines(now = () => performance.now()): StartDeadline {
  const queues = new Map<number, Queue>()
  const queueOf = (timeoutMs: number): Queue => {
    const known = queues.get(timeoutMs)
    if (known !== undefined) return known
    const queue = createQueue(timeoutMs, now)
    queues.set(timeoutMs, queue)
    return queue
  }
  return (ending, timeoutMs, startedAt) => ({
    signal: ending.signal,
    endsAt: startedAt + timeoutMs,
    abort: (reason) => ending.abort(reason),
    clear: queueOf(timeoutMs)(() =>
      ending.abort(new ProviderFailure('timeout', `No answer within ${timeoutMs} ms.`)),
    ),
  })
}

/** Runs `end` when its time has come, unless what it gives is called before. */
type Queue = (end: () => void) => () => void

/** What waits equally long is due in the order in which it came. */
function createQueue(timeoutMs: number, now: () => number): Queue {
  const dueAt = new Map<() => void, number>()
  let armed = false
  const arm = (delayMs: number) => {
    armed = true
    // It outlasts the calls it was set for; whatever is open keeps the process running by itself.
    setTimeout(endDue, delayMs).unref()
  }
  const endDue = () => {
    armed = false
    for (const [end, time] of dueAt) {
      if (time > now()) return arm(Math.ceil(time - now()))
      dueAt.delete(end)
      end()
    }
  }
  return (end) => {
    dueAt.set(end, now() + timeoutMs)
    if (!armed) arm(timeoutMs)
    return () => dueAt.delete(end)
  }
}

/** Why a call ends whose caller has left. */
export function callerLeft(): ProviderFailure {
  return new ProviderFailure('cancelled', 'The caller left.')
}
