import type { CountsInMemory } from './counts-in-memory.ts'
import { createCountsLink, type Answer } from './counts-link.ts'
import type { Counted, LimitCounts, Needs, Taken } from './limit-counts.ts'
import type { EndOperation, LimitExchange, TakeOperation } from './limit-operations.ts'

type Options = {
  exchange: LimitExchange
  /** Names this process; no other one has had the name. */
  processId: string
  /** Counts while nobody answers; `processes` are those that were there the last time. */
  createNear: (processes: () => number) => CountsInMemory
  /** How long an answer may take. */
  timeoutMs: () => number
  /** Told when each process begins to count its share alone, and when all count as one again. */
  onAlone: (error: unknown) => void
  onTogether: () => void
}

export type FarCounts = LimitCounts & {
  /** Among how many processes limits are divided while nobody answers. */
  processes(): number
  /** Says that this process ends, so that the others have its share. */
  close(): Promise<void>
}

const beatIntervalMs = 2000
/** While nobody answers. */
const tryIntervalMs = 250
/** What a call has of the calls at once ends so long after its deadline, should nobody end it. */
const leaseMarginMs = 30_000
/** Ends of calls that wait for an answer to come again; the oldest are let go, and end with their lease. */
const owedMax = 10_000

/** Counts where all processes count; while nobody answers there, in memory, and the share of this process. */
export function createFarCounts(options: Options): FarCounts {
  const { processId, timeoutMs, onAlone, onTogether } = options
  let processes = 1
  let isTogether = true
  let calls = 0
  const owed: EndOperation[] = []
  const near = options.createNear(() => processes)
  const link = createCountsLink({
    exchange: options.exchange,
    timeoutMs,
    onFailure: (error) => {
      if (!isTogether) return
      isTogether = false
      onAlone(error)
      beats.in(tryIntervalMs)
    },
  })
  const owe = (operation: EndOperation): void => {
    if (owed.push(operation) > owedMax) owed.shift()
  }
  const tell = (operation: EndOperation): void => {
    const [, , windows, ownerIds] = operation
    if (windows.length + ownerIds.length === 0) return
    if (!isTogether) return owe(operation)
    // It may have been carried out: that a call ends can be said twice, what it used cannot.
    void link.ask(operation, (late) => {
      if (late === undefined && ownerIds.length > 0) owe(callAlone(operation))
    })
  }
  const beat = async (): Promise<void> => {
    const answer = await link.ask(['beat'])
    if (answer !== undefined) {
      processes = Math.max(1, answer[0] ?? 1)
      if (!isTogether) {
        isTogether = true
        onTogether()
      }
      for (const operation of owed.splice(0)) tell(operation)
    }
    beats.in(isTogether ? beatIntervalMs : tryIntervalMs)
  }
  const beats = createBeats(beat)
  void beat()

  const takeFar = async (needs: Needs): Promise<Taken> => {
    const operation = takeOf(needs, `${processId}:${(++calls).toString(36)}`)
    const giveBack = (answer: Answer | undefined): void => {
      if (answer?.[0] === 0) return
      const points = needs.windows.map((need) => -need.points)
      tell(endOf(operation, answer?.slice(1), points))
    }
    const answer = await link.ask(operation, giveBack)
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
    const answer = await link.ask(['look', keys, owners.map(({ ownerId }) => ownerId)])
    return answer === undefined ? near.look(needs) : countedOf(needs, answer)
  }
  return {
    take: (needs) => (isTogether ? takeFar(needs) : near.take(needs)),
    look: (needs) => (isTogether ? lookFar(needs) : near.look(needs)),
    size: near.size,
    processes: () => processes,
    close: async () => {
      beats.end()
      if (isTogether) await link.ask(['leave'])
    },
  }
}

/** One timer for the next beat. */
function createBeats(beat: () => Promise<void>) {
  let timer: NodeJS.Timeout | undefined
  let hasEnded = false
  return {
    in: (delayMs: number): void => {
      clearTimeout(timer)
      if (!hasEnded) timer = setTimeout(() => void beat(), delayMs).unref()
    },
    end: (): void => {
      hasEnded = true
      clearTimeout(timer)
    },
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

function callAlone([name, callId, , ownerIds]: EndOperation): EndOperation {
  return [name, callId, [], ownerIds]
}

function countedOf({ windows, calls }: Pick<Needs, 'windows' | 'calls'>, seen: Answer): Counted {
  const running = seen.slice(windows.length * 3, windows.length * 3 + calls.length)
  return {
    windows: windows.map((_, index) => ({ used: seen[index * 3]!, leftMs: seen[index * 3 + 1]! })),
    running: () => running,
    processes: 1,
  }
}
