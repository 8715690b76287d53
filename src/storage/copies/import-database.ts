import { resolve } from 'node:path'
import { sql, type Kysely } from 'kysely'
import { newestSchema } from '../migrations.ts'
import { StoreError, toStoreError } from '../store-error.ts'
import type { Store } from '../store.ts'
import type { Tables } from '../tables.ts'
import type { ExportHead } from './export-format.ts'
import { fillStore } from './import-rows.ts'
import type { Imported } from './import.ts'

type Options = { store: Store; file: string }

/**
 * Fills a database without accounts from an export, in one transaction. Throws a StoreError. Gateways
 * that start meanwhile wait for it.
 */
export async function importIntoDatabase({ store, ...options }: Options): Promise<Imported> {
  const file = resolve(options.file)
  try {
    return await store.db.transaction().execute(async (db) => {
      await assertEmpty(db)
      const filled = await fillStore({ file, db, onHead: assertNewest })
      return { ...filled, file, replaced: null }
    })
  } catch (error) {
    const { concernsRow, concernsStatement, message, told } = toStoreError(error)
    if (error instanceof StoreError && error.cause === undefined) throw error
    const isOfRows = concernsRow || concernsStatement
    const what = `${file} ${isOfRows ? 'has rows that no store holds' : 'cannot be imported'}`
    const why = isOfRows ? `${message}.` : `${told.reason}. ${told.remedy}`
    throw new StoreError(`${what}: ${why} Nothing was imported.`)
  }
}

async function assertEmpty(db: Kysely<Tables>): Promise<void> {
  await sql`lock table accounts in exclusive mode`.execute(db)
  const { rows } = await sql<{ accounts: number; calls: number }>`
    select (select count(*) from accounts) as accounts, (select count(*) from usage) as calls
  `.execute(db)
  const { accounts, calls } = rows[0]!
  if (accounts === 0 && calls === 0) {
    // That of a start which made no account yet: it would not be the one of the rows.
    await db.deleteFrom('gateway_secrets').execute()
    return
  }
  throw new StoreError(
    `DATABASE_URL: the database has a store already (accounts: ${accounts}, calls: ${calls}), and an import fills an empty one. Create another database and name that.`,
  )
}

async function assertNewest({ schema }: ExportHead): Promise<void> {
  if (schema === newestSchema()) return
  throw new StoreError(
    `The export is of an older schema (${schema}). Import it into an empty DATA_DIR without DATABASE_URL, which migrates it, and export that.`,
  )
}
