import type { Journal } from './journal.ts'
import { toStoreError, type StoreError } from './store-error.ts'
import type { Store, StoreStatement } from './store.ts'
import type { Tables, UsageTable } from './tables.ts'

/** A row of the journal. */
export type JournalRow = [table: keyof Tables, row: Tables[keyof Tables]]

type Replay = {
  store: Store
  journal: Journal
  /** Receives rows that the store refuses for good. */
  events: { rowRefused(row: object, error: StoreError): void }
  /** Maximum of rows in one transaction. */
  rowsMax: number
}

/** Moves the rows of the journal into the store, each of them once. Resolves with the number of rows. */
export async function replay({ store, journal, events, rowsMax }: Replay): Promise<number> {
  const insert = (rows: readonly JournalRow[]) => {
    const statements = [...Map.groupBy(rows, ([table]) => table)].flatMap(([table, group]) =>
      insertedLate(
        store,
        table,
        group.map(([, row]) => row),
      ),
    )
    return store.commit(statements, { waits: false })
  }
  const insertSingly = async (rows: readonly JournalRow[]) => {
    for (const one of rows) {
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
    // Only `insert` of this version or an older one writes to the journal.
    const rows = records as JournalRow[]
    if (rows.length === 0 && (await journal.clear(end))) return count
    for (let at = 0; at < rows.length; at += rowsMax) {
      const group = rows.slice(at, at + rowsMax)
      await insert(group).catch((error: unknown) => {
        if (!toStoreError(error).concernsRow) throw error
        return insertSingly(group)
      })
    }
    count += rows.length
    from = end
  }
}

/** Statements that insert rows unless they exist, and delete their provisional rows. */
export function insertedLate<Name extends keyof Tables>(
  store: Pick<Store, 'db' | 'insertions'>,
  table: Name,
  rows: readonly Tables[Name][],
): StoreStatement[] {
  const inserted = store.insertions(table, rows, { unlessThere: true })
  // The rows belong to `table`, so they are UsageTable rows.
  return table === 'usage'
    ? [
        ...deleteProvisional(
          store,
          rows as readonly Tables[keyof Tables][] as readonly UsageTable[],
        ),
        ...inserted,
      ]
    : [...inserted]
}

/**
 * Deletes the provisional rows of calls whose process was presumed dead (accounts/reservation-sweep.ts). A
 * row without a cost deletes only a provisional row without an amount: the reserved amount stays charged.
 */
function deleteProvisional(
  { db }: Pick<Store, 'db'>,
  rows: readonly UsageTable[],
): StoreStatement[] {
  return rows.map(({ account_id: accountId, at, id, cost_nano_usd: cost }) => {
    const provisional = db
      .deleteFrom('usage')
      .where('account_id', '=', accountId)
      .where('at', '=', at)
      .where('id', '=', id)
      .where('outcome', '=', 'unknown')
      .where('attempts', '=', '[]')
    return (cost === null ? provisional.where('cost_nano_usd', 'is', null) : provisional).compile()
  })
}
