import { sql } from 'kysely'
import { migrations, newestSchema } from '../../src/storage/migrations.ts'

/** Name of a migration that a later version of the gateway may have. */
export const later = '9000_later'

/** Name of a later migration whose store this version can go on using. */
export const laterCompatible = `9000_later_from_${newestSchema().slice(0, 4)}`

/**
 * Runs with a version of the gateway that has one more migration, which by default adds a column to `usage`: a store
 * of this version is then an older one.
 */
export async function withLaterMigration<T>(
  run: () => Promise<T>,
  statement = 'alter table usage add column later_tokens bigint default 7 not null',
  name = later,
): Promise<T> {
  migrations[name] = async (db) => void (await sql.raw(statement).execute(db))
  try {
    return await run()
  } finally {
    delete migrations[name]
  }
}

/** The refusal of a store from before version 0.1. */
export const beforeFirst =
  / is from before version 0\.1\. Export it with the version that made it: `npm run -s gateway -- export rows\.jsonl`\. Then import the file with this version into an empty DATA_DIR or database: `npm run -s gateway -- import rows\.jsonl`\.$/m
