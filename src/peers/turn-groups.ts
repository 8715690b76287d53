type Options<Operation, Answer> = {
  /** Carries out what is asked in one message; an answer for each operation, in their order. */
  exchange: (operations: readonly Operation[]) => Promise<readonly Answer[]>
  /** How long a message may wait for its answer. */
  timeoutMs: () => number
  /** Told of each message that has no answer in time, or none at all. */
  onFailure: (error: unknown) => void
}

type Entry<Operation, Answer> = {
  operation: Operation
  resolve: (answer: Answer | undefined) => void
  onLate: ((answer: Answer | undefined) => void) | undefined
}

/** Operations of one turn of the event loop, which are one message. */
type TurnGroups<Operation, Answer> = {
  /**
   * Resolves with the answer, or with undefined when there is none in time. `onLate` then hears what
   * has become of it: the answer, or undefined where nobody knows.
   */
  ask(
    operation: Operation,
    onLate?: (answer: Answer | undefined) => void,
  ): Promise<Answer | undefined>
}

/** So many operations go in one message: Redis does nothing else meanwhile. */
const operationsMax = 200

/** How often a message is waited for again, because this process was busy. */
const busyWaitsMax = 5

/** Asks elsewhere; what is asked in one turn of the event loop is one message. */
export function createTurnGroups<Operation, Answer>({
  exchange,
  timeoutMs,
  onFailure,
}: Options<Operation, Answer>): TurnGroups<Operation, Answer> {
  let group: Entry<Operation, Answer>[] = []
  const flush = (): void => {
    const entries = group
    group = []
    for (let from = 0; from < entries.length; from += operationsMax) {
      post(entries.slice(from, from + operationsMax))
    }
  }
  const post = (entries: readonly Entry<Operation, Answer>[]): void => {
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
    const waitMs = timeoutMs()
    const wait = (again: number): NodeJS.Timeout => {
      const until = performance.now() + waitMs
      return setTimeout(() => {
        // A process that was busy itself has neither sent nor read meanwhile.
        const wasBusy = performance.now() - until > waitMs / 4
        if (wasBusy && again > 0) timer = wait(again - 1)
        // An answer that has arrived counts: it is read before.
        else setImmediate(() => giveUp(new Error('It does not answer in time.')))
      }, waitMs)
    }
    let timer = wait(busyWaitsMax)
    exchange(entries.map(({ operation }) => operation)).then(end, (error: unknown) => {
      giveUp(error)
      end([])
    })
  }
  return {
    ask: (operation, onLate) =>
      new Promise((resolve) => {
        if (group.push({ operation, resolve, onLate }) === 1) setImmediate(flush)
      }),
  }
}
