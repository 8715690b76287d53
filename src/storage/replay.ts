import type { Journal } from './journal.ts'
import { toStoreError, type StoreError } from './store-error.ts'
import type { Store } from './store.ts'
import type { Tables } from './tables.ts'

/** A row of the journal. */
export type Kept = [table: keyof Tables, row: Tables[keyof Tables]]

type Replay = {
  store: Store
  journal: Journal
  /** Told of a row that can never be inserted. */
  events: { rowRefused(row: object, error: StoreError): void }
  /** Rows of one transaction. */
  rowsMax: number
}

/** Moves the rows of the journal into the store, each once. Resolves with their number. */
export async function replay({ store, journal, events, rowsMax }: Replay): Promise<number> {
  const insert = (kept: readonly Kept[]) => {
    const rows = [...Map.groupBy(kept, ([table]) => table)].flatMap(([table, group]) =>
      store.insertions(
        table,
        group.map(([, row]) => row),
        { unlessThere: true },
      ),
    )
    return store.commit(rows, { waits: false })
  }
  const insertSingly = async (kept: readonly Kept[]) => {
    for (const one of kept) {
      await insert([one]).catch((error: unknown) => {
        const failure = toStoreError(error)
        if (!failure.concernsRow) throw failure
        events.rowRefused(one[1], failure)
      })
    }
  }
  let count = 0
  for (let from = 0; ;) {
    const { records, end } = await journal.read(from)
    // Only `keep` writes to the journal, of this version or of one before.
    const kept = records as Kept[]
    if (kept.length === 0 && (await journal.clear(end))) return count
    for (let at = 0; at < kept.length; at += rowsMax) {
      const group = kept.slice(at, at + rowsMax)
      await insert(group).catch((error: unknown) => {
        if (!toStoreError(error).concernsRow) throw error
        return insertSingly(group)
      })
    }
    count += kept.length
    from = end
  }
}
