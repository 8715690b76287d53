import type { PrimaryLine } from '../peers/primary-line.ts'
import type { WorkerLines } from '../peers/worker-lines.ts'
import { createCountsInMemory, type CountsInMemory } from './counts-in-memory.ts'
import type { LimitExchange, LimitOperation, TakeOperation } from './limit-operations.ts'
import { windowSeconds } from './rate-limit.ts'

const topic = 'limits'

/** A worker's way to the counts of its primary. */
export function askPrimaryForCounts(line: Pick<PrimaryLine, 'ask'>): LimitExchange {
  // The primary answers as `countForWorkers` has it.
  return async (operations) => (await line.ask(topic, operations)) as (readonly number[])[]
}

type Primary = Pick<Parameters<typeof createCountsInMemory>[0], 'monotonic' | 'onFault'> & {
  lines: Pick<WorkerLines, 'answer' | 'onEnded' | 'workers'>
}

/** Counts in the primary for all of its workers; what a worker has of the calls at once ends with it. */
export function countForWorkers({ lines, monotonic, onFault }: Primary): void {
  const { answer, ended } = createCountsForWorkers({
    counts: createCountsInMemory({ windowSeconds, monotonic, onFault }),
    monotonic,
    processes: () => lines.workers().length,
  })
  // What a worker asks was written by `createFarCounts`.
  lines.answer(topic, (operations, { id }) => answer(operations as readonly LimitOperation[], id))
  lines.onEnded(({ id }) => ended(id))
}

type Options = {
  counts: CountsInMemory
  monotonic: () => number
  /** How many processes count together. */
  processes: () => number
}

/** The calls under way of a worker, by their ids, and whose they are. */
type Running = Map<string, readonly string[]>

/** The primary's counts, for all of its workers. */
export function createCountsForWorkers({ counts, monotonic, processes }: Options) {
  const workers = new Map<number, Running>()
  const runningOf = (worker: number): Running => {
    const known = workers.get(worker)
    if (known !== undefined) return known
    const running: Running = new Map()
    workers.set(worker, running)
    return running
  }
  const take = async (operation: TakeOperation, running: Running): Promise<readonly number[]> => {
    const [, callId, timeoutMs, windows, calls] = operation
    const taken = await counts.take({
      windows: windows.map(([key, limit, points]) => ({ of: { key, limit }, points })),
      calls: calls.map(([ownerId, limit]) => ({ ownerId, limit })),
      timeoutMs,
    })
    if (taken.end !== undefined && calls.length > 0) {
      running.set(
        callId,
        calls.map(([ownerId]) => ownerId),
      )
    }
    return [taken.end === undefined ? 0 : 1, ...told(taken, monotonic())]
  }
  const endCall = (running: Running, callId: string): void => {
    counts.endCalls(running.get(callId) ?? [])
    running.delete(callId)
  }
  const perform = (
    operation: LimitOperation,
    running: Running,
  ): Promise<readonly number[]> | readonly number[] => {
    if (operation[0] === 'take') return take(operation, running)
    if (operation[0] === 'end') {
      for (const [key, endsAt, more] of operation[2]) counts.settle(key, endsAt, more)
      endCall(running, operation[1])
      return []
    }
    if (operation[0] !== 'look') return [processes()]
    const [, keys, ownerIds] = operation
    const windows = keys.map((key) => ({ of: { key, limit: 0 }, points: 0 }))
    const calls = ownerIds.map((ownerId) => ({ ownerId, limit: 0 }))
    return told(counts.look({ windows, calls }), monotonic())
  }
  return {
    /** Carries out what a worker asks in one message. */
    answer: (operations: readonly LimitOperation[], worker: number) =>
      Promise.all(operations.map(async (operation) => perform(operation, runningOf(worker)))),
    /** Ends the calls of a worker that has ended. */
    ended: (worker: number): void => {
      const running = runningOf(worker)
      for (const callId of running.keys()) endCall(running, callId)
      workers.delete(worker)
    },
  }
}

/** As `LookOperation` is answered; a window is named by when it ends. */
function told(
  { windows, running }: Pick<Awaited<ReturnType<CountsInMemory['take']>>, 'windows' | 'running'>,
  now: number,
): number[] {
  const seen = windows.flatMap(({ used, leftMs }) => [
    used,
    leftMs,
    leftMs === 0 ? 0 : now + leftMs,
  ])
  return [...seen, ...running()]
}
