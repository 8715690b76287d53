import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { UsageTable } from '../../src/storage/tables.ts'

/** What is in a store's file, whether or not a server has it open: the ledger, and SQLite's opinion. */
export function readLedger(dataDir: string): { rows: UsageTable[]; integrity: string } {
  const database = new DatabaseSync(join(dataDir, 'gateway.db'))
  try {
    const rows = database.prepare('SELECT * FROM usage ORDER BY at').all()
    const check = database.prepare('PRAGMA integrity_check').get()
    return { rows: rows as UsageTable[], integrity: String(check?.['integrity_check']) }
  } finally {
    database.close()
  }
}
