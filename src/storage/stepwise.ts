import type { Kysely } from 'kysely'
import { migratorFor, toMigrationError } from './migrations.ts'
import type { SqlDialect } from './sql-dialect.ts'

/** A migration that ran, and its duration. */
export type MigrationRun = { name: string; durationMs: number }

type Options<Database> = {
  db: Kysely<Database>
  dialect: SqlDialect
  /** Whether to commit the transaction; else it is rolled back. */
  keeps: boolean
}

/**
 * Runs the migrations that a store lacks in one transaction: all of them, or none. Throws a StoreError
 * if a newer version of the gateway wrote the store.
 */
export async function migrateStepwise<Database>({
  db,
  dialect,
  keeps,
}: Options<Database>): Promise<MigrationRun[]> {
  const runs: MigrationRun[] = []
  const work = db.transaction().execute(async (transaction) => {
    const migrator = migratorFor(transaction, dialect)
    for (;;) {
      const startedAt = performance.now()
      const { error, results } = await migrator.migrateUp()
      if (error !== undefined) throw toMigrationError(error)
      const name = results?.[0]?.migrationName
      if (name === undefined) break
      runs.push({ name, durationMs: Math.round(performance.now() - startedAt) })
    }
    if (!keeps) throw new Undone()
  })
  await work.catch((error: unknown) => {
    if (!(error instanceof Undone)) throw error
  })
  return runs
}

/** Thrown to roll back a transaction that succeeded. */
class Undone extends Error {}
