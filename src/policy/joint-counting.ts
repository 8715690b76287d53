import { createTurnGroups, type TurnGroups } from '../peers/turn-groups.ts'
import type { EndOperation, LimitExchange, LimitOperation } from './limit-operations.ts'

type Options = {
  exchange: LimitExchange
  /** How long an answer may take. */
  timeoutMs: () => number
  /** Told when each process begins to count its share alone, and when all count as one again. */
  onAlone: (error: unknown) => void
  onJoint: () => void
}

/** Whether all processes count as one, at a place that may stop to answer and come back. */
export type JointCounting = {
  /** Nobody asks while it is false. */
  isJoint(): boolean
  /** How many processes there were the last time. */
  processes(): number
  ask: TurnGroups<LimitOperation, readonly number[]>['ask']
  /** Ends a call, at the latest when there are answers again. */
  tell(operation: EndOperation): void
  /** Says that this process ends, so that the others have its share. */
  close(): Promise<void>
}

const beatIntervalMs = 2000
/** While nobody answers, and at first, since processes begin together. */
const tryIntervalMs = 250
const firstBeats = 4
/** Ends of calls that wait for answers; the oldest are let go, and end with their time. */
const owedMax = 10_000

/** Says once in a while that this process is there. An answer that is missing leaves it alone until the next. */
export function countJointly({ exchange, timeoutMs, onAlone, onJoint }: Options): JointCounting {
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
    beatIn(tryIntervalMs)
  }
  const { ask } = createTurnGroups({ exchange, timeoutMs, onFailure })
  const owe = (operation: EndOperation): void => {
    if (owed.push(operation) > owedMax) owed.shift()
  }
  const tell: JointCounting['tell'] = (operation) => {
    const [, callId, windows, ownerIds] = operation
    if (windows.length + ownerIds.length === 0) return
    if (!isJoint) return owe(operation)
    // It may have been carried out: that a call ends can be said twice, what it used cannot.
    void ask(operation, (late) => {
      if (late === undefined && ownerIds.length > 0) owe(['end', callId, [], ownerIds])
    })
  }
  const beat = async (): Promise<void> => {
    const answer = await ask(['beat'])
    if (answer !== undefined) {
      processes = Math.max(1, answer[0] ?? 1)
      if (!isJoint) onJoint()
      isJoint = true
      for (const operation of owed.splice(0)) tell(operation)
    }
    beatIn(isJoint && ++beats > firstBeats ? beatIntervalMs : tryIntervalMs)
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
    tell,
    close: async () => {
      hasEnded = true
      clearTimeout(timer)
      if (isJoint) await ask(['leave'])
    },
  }
}
