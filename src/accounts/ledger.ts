import type { UsageRow } from '../core/receipt.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import { createGroups } from './groups.ts'
import { toTable } from './ledger-row.ts'

/** Writes usage rows in groups (accounts/groups.ts); resolves when a row is durable. */
export function createLedger(
  store: Pick<GuardedStore, 'keep'>,
  limits: { ledgerGroupRowsMax: number; ledgerGroupPauseMaxMs: number },
  onRecorded: (row: UsageRow) => void,
): (row: UsageRow) => Promise<void> {
  const keep = createGroups(async (rows: readonly UsageRow[]) => {
    await store.keep('usage', rows.map(toTable))
    return rows
  }, limits)
  return async (row) => {
    await keep(row)
    onRecorded(row)
  }
}
