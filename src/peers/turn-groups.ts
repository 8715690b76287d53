type Options<Operation, Answer> = {
  /** Sends operations in one message; resolves with their answers in the same order. */
  exchange: (operations: readonly Operation[]) => Promise<readonly Answer[]>
  timeoutMs: () => number
  /** Called for each message that timed out or failed. */
  onFailure: (error: unknown) => void
}

type Entry<Operation, Answer> = {
  operation: Operation
  resolve: (answer: Answer | undefined) => void
  onLate: ((answer: Answer | undefined) => void) | undefined
}

/**
 * Resolves with the answer, or with undefined after the timeout. `onLate` then receives a late answer,
 * or undefined if the outcome is unknown.
 */
type Ask<Operation, Answer> = (
  operation: Operation,
  onLate?: (answer: Answer | undefined) => void,
) => Promise<Answer | undefined>

/** Maximum of operations per message, since a script blocks Redis while it runs. */
const operationsMax = 200

/** How often the timeout is restarted because this process was busy. */
const busyWaitsMax = 5

/** Groups operations by turn of the event loop and exchanges each group as one message. */
export function createTurnGroups<Operation, Answer>({
  exchange,
  timeoutMs,
  onFailure,
}: Options<Operation, Answer>): Ask<Operation, Answer> {
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
        // If the timer is late, this process was blocked and may not have sent or read the message.
        const wasBusy = performance.now() - until > waitMs / 4
        if (wasBusy && again > 0) timer = wait(again - 1)
        // Reads an answer that has already arrived before giving up.
        else setImmediate(() => giveUp(new Error('Redis did not answer in time.')))
      }, waitMs)
    }
    let timer = wait(busyWaitsMax)
    exchange(entries.map(({ operation }) => operation)).then(end, (error: unknown) => {
      giveUp(error)
      end([])
    })
  }
  return (operation, onLate) =>
    new Promise((resolve) => {
      if (group.push({ operation, resolve, onLate }) === 1) setImmediate(flush)
    })
}
