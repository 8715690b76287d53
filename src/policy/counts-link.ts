import type { LimitExchange, LimitOperation } from './limit-operations.ts'

export type Answer = readonly number[]

type Options = {
  exchange: LimitExchange
  /** How long a message may wait for its answer. */
  timeoutMs: () => number
  /** Told of each message that has no answer in time, or none at all. */
  onFailure: (error: unknown) => void
}

type Entry = {
  operation: LimitOperation
  resolve: (answer: Answer | undefined) => void
  onLate: ((answer: Answer | undefined) => void) | undefined
}

/** So many operations go in one message: Redis does nothing else meanwhile. */
const operationsMax = 200

/** Asks for what is counted elsewhere; what is asked in one turn of the event loop is one message. */
export function createCountsLink({ exchange, timeoutMs, onFailure }: Options) {
  let group: Entry[] = []
  const flush = (): void => {
    const entries = group
    group = []
    for (let from = 0; from < entries.length; from += operationsMax) {
      post(entries.slice(from, from + operationsMax))
    }
  }
  const post = (entries: readonly Entry[]): void => {
    let isOver = false
    const end = (answers: readonly Answer[]): void => {
      clearTimeout(timer)
      if (!isOver) entries.forEach(({ resolve }, index) => resolve(answers[index]))
      else entries.forEach(({ onLate }, index) => onLate?.(answers[index]))
      isOver = true
    }
    const giveUp = (error: unknown): void => {
      if (isOver) return
      isOver = true
      onFailure(error)
      for (const { resolve } of entries) resolve(undefined)
    }
    // An answer that has arrived while this process was busy counts: it is read before.
    const late = () => giveUp(new Error('It does not answer in time.'))
    const timer = setTimeout(() => setImmediate(late), timeoutMs())
    exchange(entries.map(({ operation }) => operation)).then(end, (error: unknown) => {
      giveUp(error)
      end([])
    })
  }
  return {
    /**
     * Resolves with the answer, or with undefined when there is none in time. `onLate` then hears what
     * has become of it: the answer, or undefined where nobody knows.
     */
    ask: (operation: LimitOperation, onLate?: Entry['onLate']): Promise<Answer | undefined> =>
      new Promise((resolve) => {
        if (group.push({ operation, resolve, onLate }) === 1) setImmediate(flush)
      }),
  }
}
