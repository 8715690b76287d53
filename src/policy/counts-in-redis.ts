import { createScript, type ScriptRunner } from '../peers/redis-script.ts'
import { createTurnGroups } from '../peers/turn-groups.ts'
import {
  createCountsInMemory,
  type AttemptChange,
  type AttemptNeed,
  type Counted,
  type Counts,
  type Looked,
  type Needs,
  type Taken,
} from './counts.ts'
import { countsScript } from './counts-script.ts'

/** An operation of the script (counts-script.ts), as JSON. Each is answered with a list of numbers. */
export type CountsOperation =
  /** Takes all or nothing. The answer is 1 or 0, then that of `look`, with what was taken counted in it. */
  | readonly [
      name: 'take',
      callId: string,
      /** The lease of a call at once ends after this at the latest. */
      leaseMs: number,
      windowMs: number,
      windows: readonly (readonly [key: string, limit: number, points: number])[],
      calls: readonly (readonly [ownerId: string, limit: number])[],
    ]
  | EndOperation
  /** The answer is `used`, `leftMs` and `endsAt` of each window (0 where none is open), then the calls of each owner. */
  | readonly [name: 'look', keys: readonly string[], ownerIds: readonly string[]]
  /** The answer is 0, or the milliseconds to wait. */
  | readonly [name: 'attempt', needs: readonly AttemptNeed[]]
  | readonly [name: 'settle', changes: readonly AttemptChange[]]
  /** Reports that the process runs, or that it ends. The answer is the number of processes. */
  | readonly [name: 'beat' | 'leave']

/**
 * Ends a call; repeating it changes nothing. `more` is what the call used of a window beyond its points. Less
 * than 0 counts only in the window that ends at `endsAt`.
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

/** The part of the connection that is used (peers/redis.ts). */
type Redis = {
  run<T>(work: (commands: ScriptRunner) => Promise<T>, timeoutMs?: number): Promise<T>
}

/** Callers wait for less, but what a late answer has taken is given back. */
const lateAnswerMs = 60_000
const runScript = createScript(countsScript)

export function createCountsExchange(redis: Redis, processId: string): CountsExchange {
  return async (operations) => {
    const words = { keys: ['limits'], arguments: [processId, JSON.stringify(operations)] }
    const answers = await redis.run((commands) => runScript(commands, words), lateAnswerMs)
    // What the script returns.
    return answers as readonly (readonly number[])[]
  }
}

type Options = {
  exchange: CountsExchange
  /** Unique to this process. */
  processId: string
  /** How long an answer may take. */
  timeoutMs: () => number
  monotonic: () => number
  /** Called when this process begins to count alone, and when it counts with the others again. */
  onAlone: (error: unknown) => void
  onJoint: () => void
}

type CountsInRedis = Counts & {
  /** The number of processes at the last answer. */
  processes(): number
}

const beatIntervalMs = 2000
/** While Redis does not answer; and at first, since processes start together. */
const retryIntervalMs = 250
const firstBeats = 4
/** Ended calls that Redis has yet to hear of; the oldest are dropped, and their leases run out. */
const owedMax = 10_000
/** The lease of a call at once outlasts the deadline of the call by this. */
const leaseMarginMs = 30_000

/**
 * Counts in Redis for all processes. After an answer that is missing, this process counts its share in memory
 * until the next answer (docs/redis.md#limits).
 */
export function createCountsInRedis(options: Options): CountsInRedis {
  const { processId, monotonic } = options
  const { isJoint, processes, ask, end, close } = connect(options)
  const near = createCountsInMemory(monotonic, processes)
  let calls = 0

  const take = async (needs: Needs): Promise<Taken> => {
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
      // The answer includes this call.
      running: () => counted.running().map((one) => (hasEnded ? one - 1 : one)),
      end: (more) => {
        hasEnded = true
        end(endOf(needs, callId, seen, more))
      },
    }
  }
  const look = async (looked: Looked): Promise<Counted> => {
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
      // Part of the attempts may have been counted here, while Redis was away.
      near.settleAttempt(changes)
      if (isJoint()) void ask(['settle', changes])
    },
    processes,
    close,
  }
}

/** Asks Redis, and reports every two seconds that this process runs. */
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
  const { ask } = createTurnGroups<CountsOperation, readonly number[]>({
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
    // It may have been carried out: the end of a call may be repeated, what it used may not.
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

function takeOf({ windows, windowMs, calls, timeoutMs }: Needs, callId: string): CountsOperation {
  return [
    'take',
    callId,
    timeoutMs + leaseMarginMs,
    windowMs,
    windows.map(({ of: { key, limit }, points }) => [key, limit, points] as const),
    calls.map(({ ownerId, limit }) => [ownerId, limit] as const),
  ]
}

/** Without `seen`, what was taken of the windows is unknown, and they stay unchanged. */
function endOf(
  { windows, windowMs, calls }: Needs,
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

function countedOf({ windows, calls }: Looked, seen: readonly number[]): Counted {
  const running = seen.slice(windows.length * 3, windows.length * 3 + calls.length)
  return {
    windows: windows.map((_, index) => ({ used: seen[index * 3]!, leftMs: seen[index * 3 + 1]! })),
    running: () => running,
    processes: 1,
  }
}
