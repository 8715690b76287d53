import { countJointly, type JointCounting } from './joint-counting.ts'
import type { CountsInMemory } from './counts-in-memory.ts'
import type { Counted, LimitCounts, Needs, Taken } from './limit-counts.ts'
import type { EndOperation, TakeOperation } from './limit-operations.ts'

type Options = Parameters<typeof countJointly>[0] & {
  /** Names this process; no other one has had the name. */
  processId: string
  /** Counts while nobody answers; `processes` are those that were there the last time. */
  createNear: (processes: () => number) => CountsInMemory
}

export type FarCounts = LimitCounts & Pick<JointCounting, 'processes' | 'close'>

/** What a call has of the calls at once ends so long after its deadline, should nobody end it. */
const leaseMarginMs = 30_000

/** Counts where all processes count; while nobody answers there, in memory, and the share of this process. */
export function createFarCounts({ processId, createNear, ...rest }: Options): FarCounts {
  const { isJoint, processes, ask, tell, close } = countJointly(rest)
  const near = createNear(processes)
  let calls = 0

  const takeFar = async (needs: Needs): Promise<Taken> => {
    const operation = takeOf(needs, `${processId}:${(++calls).toString(36)}`)
    const giveBack = (answer: readonly number[] | undefined): void => {
      if (answer?.[0] === 0) return
      const points = needs.windows.map((need) => -need.points)
      tell(endOf(operation, answer?.slice(1), points))
    }
    const answer = await ask(operation, giveBack)
    if (answer === undefined) return near.take(needs)
    const seen = answer.slice(1)
    const counted = countedOf(needs, seen)
    if (answer[0] === 0) return { ...counted, end: undefined }
    let hasEnded = false
    return {
      ...counted,
      // It was counted itself.
      running: () => counted.running().map((one) => (hasEnded ? one - 1 : one)),
      end: (more) => {
        hasEnded = true
        tell(endOf(operation, seen, more))
      },
    }
  }
  const lookFar = async (needs: Pick<Needs, 'windows' | 'calls'>): Promise<Counted> => {
    const { windows, calls: owners } = needs
    const keys = windows.map(({ of }) => of.key)
    const answer = await ask(['look', keys, owners.map(({ ownerId }) => ownerId)])
    return answer === undefined ? near.look(needs) : countedOf(needs, answer)
  }
  return {
    take: (needs) => (isJoint() ? takeFar(needs) : near.take(needs)),
    look: (needs) => (isJoint() ? lookFar(needs) : near.look(needs)),
    size: near.size,
    processes,
    close,
  }
}

function takeOf({ windows, calls, timeoutMs }: Needs, callId: string): TakeOperation {
  return [
    'take',
    callId,
    timeoutMs + leaseMarginMs,
    windows.map(({ of: { key, limit }, points }) => [key, limit, points] as const),
    calls.map(({ ownerId, limit }) => [ownerId, limit] as const),
  ]
}

/** Ends a call; where it is not known whether it was taken (`seen` undefined), its windows stay as they are. */
function endOf(
  [, callId, , windows, calls]: TakeOperation,
  seen: readonly number[] | undefined,
  more: readonly number[] = [],
): EndOperation {
  const settled = windows.flatMap(([key], index) => {
    const change = more[index] ?? 0
    return change === 0 || seen === undefined ? [] : [[key, seen[index * 3 + 2]!, change] as const]
  })
  return ['end', callId, settled, calls.map(([ownerId]) => ownerId)]
}

function countedOf(
  { windows, calls }: Pick<Needs, 'windows' | 'calls'>,
  seen: readonly number[],
): Counted {
  const running = seen.slice(windows.length * 3, windows.length * 3 + calls.length)
  return {
    windows: windows.map((_, index) => ({ used: seen[index * 3]!, leftMs: seen[index * 3 + 1]! })),
    running: () => running,
    processes: 1,
  }
}
