import { createScript, type ScriptRunner } from '../peers/redis-script.ts'
import { createTurnGroups } from '../peers/turn-groups.ts'
import {
  createCountsInMemory,
  type AttemptChange,
  type AttemptNeed,
  type Counted,
  type Counts,
  type LimitsRead,
  type LimitsTaken,
  type Taken,
} from './counts.ts'
import { countsScript } from './counts-script.ts'

/** An operation of the script (counts-script.ts), as JSON. The reply is a list of numbers. */
export type CountsOperation =
  /** Takes all points or none. Replies 1 or 0, then as `look`, including them. */
  | readonly [
      name: 'take',
      callId: string,
      /** The lease of a running call ends after this time at the latest. */
      leaseMs: number,
      windowMs: number,
      windows: readonly (readonly [key: string, limit: number, points: number])[],
      calls: readonly (readonly [ownerId: string, limit: number])[],
    ]
  | EndOperation
  /** Replies `used`, `leftMs` and `endsAt` of each window or 0, then the calls of each owner. */
  | readonly [name: 'look', keys: readonly string[], ownerIds: readonly string[]]
  /** The reply is 0, or the milliseconds to wait. */
  | readonly [name: 'attempt', needs: readonly AttemptNeed[]]
  | readonly [name: 'settle', changes: readonly AttemptChange[]]
  /** A heartbeat, or the end of the process. The reply is the number of processes. */
  | readonly [name: 'beat' | 'leave']

/**
 * Ends a call; repeating it changes nothing. `more` is the use of a window beyond the points taken. A
 * negative number counts only in the window that ends at `endsAt`.
 */
type EndOperation = readonly [
  name: 'end',
  callId: string,
  windowMs: number,
  windows: readonly (readonly [key: string, endsAt: number, more: number])[],
  ownerIds: readonly string[],
]

/** Runs operations in one message; the answers are in the same order. */
export type CountsExchange = (
  operations: readonly CountsOperation[],
) => Promise<readonly (readonly number[])[]>

/** The used members of the Redis connection (peers/redis.ts). */
type Redis = {
  run<T>(work: (commands: ScriptRunner) => Promise<T>, timeoutMs?: number): Promise<T>
}

/** How late a reply may be: clients wait less, but points that a late reply took are given back. */
const lateAnswerMs = 60_000
const runScript = createScript(countsScript)

export function createCountsExchange(redis: Redis, processId: string): CountsExchange {
  return async (operations) => {
    const words = { keys: ['limits'], arguments: [processId, JSON.stringify(operations)] }
    const answers = await redis.run((commands) => runScript(commands, words), lateAnswerMs)
    // The script returns a list of numbers for each operation.
    return answers as readonly (readonly number[])[]
  }
}

type Options = {
  exchange: CountsExchange
  /** Unique to this process. */
  processId: string
  /** The timeout of a reply. */
  timeoutMs: () => number
  monotonic: () => number
  /** Called when this process starts to count alone, and when it counts with the other processes again. */
  onAlone: (error: unknown) => void
  onJoint: () => void
}

const beatIntervalMs = 2000
/** The interval of heartbeats while Redis does not answer, and at the start of the process. */
const retryIntervalMs = 250
const firstBeats = 4
/** Ended calls not yet reported to Redis; the oldest are dropped, and their leases expire. */
const owedMax = 10_000
/** The lease of a running call ends this long after the deadline of the call. */
const leaseMarginMs = 30_000

/**
 * Counts in Redis for all processes. If a reply is missing, this process counts its share in memory until the
 * next reply (docs/redis.md#limits).
 */
export function createCountsInRedis(options: Options): Counts & { processes: () => number } {
  const { processId, monotonic } = options
  const { isJoint, processes, ask, end, close } = connect(options)
  const near = createCountsInMemory(monotonic, processes)
  let calls = 0

  const take = async (needs: LimitsTaken): Promise<Taken> => {
    const callId = `${processId}:${(++calls).toString(36)}`
    const giveBack = (late: readonly number[] | undefined): void => {
      if (late?.[0] === 0) return
      const points = needs.windows.map((need) => -need.points)
      end(endOf(needs, callId, late?.slice(1), points))
    }
    const answer = await ask(takeOf(needs, callId), giveBack)
    if (answer === undefined) return near.take(needs)
    const seen = answer.slice(1)
    const counted = countedOf(needs, seen)
    if (answer[0] === 0) return { ...counted, end: undefined }
    let hasEnded = false
    return {
      ...counted,
      // The reply includes this call.
      running: () => counted.running().map((one) => (hasEnded ? one - 1 : one)),
      end: (more) => {
        hasEnded = true
        end(endOf(needs, callId, seen, more))
      },
    }
  }
  const look = async (looked: LimitsRead): Promise<Counted> => {
    const keys = looked.windows.map(({ of }) => of.key)
    const owners = looked.calls.map(({ ownerId }) => ownerId)
    const answer = await ask(['look', keys, owners])
    return answer === undefined ? near.look(looked) : countedOf(looked, answer)
  }
  return {
    take: (needs) => (isJoint() ? take(needs) : near.take(needs)),
    look: (looked) => (isJoint() ? look(looked) : near.look(looked)),
    attempt: async (needs) => {
      const answer = isJoint() ? await ask(['attempt', needs]) : undefined
      return answer?.[0] ?? near.attempt(needs)
    },
    settleAttempt: (changes) => {
      // Some attempts may have been counted in memory while Redis was unavailable.
      near.settleAttempt(changes)
      if (isJoint()) void ask(['settle', changes])
    },
    /** The number of processes in the last reply. */
    processes,
    close,
  }
}

/** Sends operations to Redis, and a heartbeat every two seconds. */
function connect({ exchange, timeoutMs, onAlone, onJoint }: Options) {
  const owed: EndOperation[] = []
  let processes = 1
  let beats = 0
  let isJoint = true
  let hasEnded = false
  let timer: NodeJS.Timeout | undefined

  const onFailure = (error: unknown): void => {
    if (!isJoint) return
    isJoint = false
    onAlone(error)
    beatIn(retryIntervalMs)
  }
  const ask = createTurnGroups<CountsOperation, readonly number[]>({
    exchange,
    timeoutMs,
    onFailure,
  })
  const owe = (operation: EndOperation): void => {
    if (owed.push(operation) > owedMax) owed.shift()
  }
  const end = (operation: EndOperation): void => {
    const [, callId, windowMs, windows, ownerIds] = operation
    if (windows.length + ownerIds.length === 0) return
    if (!isJoint) return owe(operation)
    // Redis may have run the operation: the end of a call may be sent twice, the use of a window may not.
    void ask(operation, (late) => {
      if (late === undefined && ownerIds.length > 0) owe(['end', callId, windowMs, [], ownerIds])
    })
  }
  const beat = async (): Promise<void> => {
    const answer = await ask(['beat'])
    if (answer !== undefined) {
      processes = Math.max(1, answer[0] ?? 1)
      if (!isJoint) onJoint()
      isJoint = true
      for (const operation of owed.splice(0)) end(operation)
    }
    beatIn(isJoint && ++beats > firstBeats ? beatIntervalMs : retryIntervalMs)
  }
  const beatIn = (delayMs: number): void => {
    clearTimeout(timer)
    if (!hasEnded) timer = setTimeout(() => void beat(), delayMs).unref()
  }
  void beat()
  return {
    isJoint: () => isJoint,
    processes: () => processes,
    ask,
    end,
    close: async () => {
      hasEnded = true
      clearTimeout(timer)
      if (isJoint) await ask(['leave'])
    },
  }
}

function takeOf(
  { windows, windowMs, calls, timeoutMs }: LimitsTaken,
  callId: string,
): CountsOperation {
  return [
    'take',
    callId,
    timeoutMs + leaseMarginMs,
    windowMs,
    windows.map(({ of: { key, limit }, points }) => [key, limit, points] as const),
    calls.map(({ ownerId, limit }) => [ownerId, limit] as const),
  ]
}

/** Without `seen` the open windows are unknown, so they stay unchanged. */
function endOf(
  { windows, windowMs, calls }: LimitsTaken,
  callId: string,
  seen: readonly number[] | undefined,
  more: readonly number[] = [],
): EndOperation {
  const settled = windows.flatMap(({ of: { key } }, index) => {
    const change = more[index] ?? 0
    return change === 0 || seen === undefined ? [] : [[key, seen[index * 3 + 2]!, change] as const]
  })
  return ['end', callId, windowMs, settled, calls.map(({ ownerId }) => ownerId)]
}

function countedOf({ windows, calls }: LimitsRead, seen: readonly number[]): Counted {
  const running = seen.slice(windows.length * 3, windows.length * 3 + calls.length)
  return {
    windows: windows.map((_, index) => ({ used: seen[index * 3]!, leftMs: seen[index * 3 + 1]! })),
    running: () => running,
    processes: 1,
  }
}
