type Group<Item, Outcome> = {
  items: Item[]
  committed: PromiseWithResolvers<readonly Outcome[]>
}

export type GroupLimits = {
  ledgerGroupRowsMax: number
  ledgerGroupPauseMaxMs: number
  /** Called after each commit, also of one that failed. */
  onCommit?: (durationMs: number) => void
}

/**
 * Returns a function that commits an item and resolves with its outcome once it is durable. Items that
 * arrive together, or during a commit, share the next commit (docs/performance.md#ledger). The limit
 * of concurrent requests bounds the number of pending items.
 */
export function createGroups<Item, Outcome>(
  commit: (items: readonly Item[]) => Promise<readonly Outcome[]>,
  { ledgerGroupRowsMax: rowsMax, ledgerGroupPauseMaxMs: pauseMaxMs, onCommit }: GroupLimits,
): (item: Item) => Promise<Outcome> {
  const waiting: Group<Item, Outcome>[] = []
  let writing = false

  async function write(): Promise<void> {
    for (let group = waiting.shift(); group !== undefined; group = waiting.shift()) {
      const startedAt = performance.now()
      try {
        group.committed.resolve(await commit(group.items))
      } catch (error) {
        group.committed.reject(error)
      }
      onCommit?.(performance.now() - startedAt)
    }
    writing = false
  }

  /**
   * Commits when a turn of the event loop has added no item: in a large group an item costs half as much as
   * alone. A single item waits only until the current turn ends.
   */
  function gather(before: number, until: number): void {
    setImmediate(() => {
      const { length } = waiting.at(-1)!.items
      if (length > before && performance.now() < until) gather(length, until)
      else void write()
    })
  }

  return (item) => {
    let group = waiting.at(-1)
    if (group === undefined || group.items.length >= rowsMax) {
      group = { items: [], committed: Promise.withResolvers() }
      waiting.push(group)
    }
    const index = group.items.push(item) - 1
    if (!writing) {
      writing = true
      gather(1, performance.now() + pauseMaxMs)
    }
    return group.committed.promise.then((outcomes) => outcomes[index]!)
  }
}
