import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { UsageTable } from '../../src/storage/tables.ts'

/** The ledger of a SQLite file, also of a running server, and the result of SQLite's integrity check. */
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
