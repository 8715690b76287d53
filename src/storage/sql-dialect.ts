import { sql, SqliteAdapter, type Kysely } from 'kysely'
import type { Tables } from './tables.ts'

/** Selects the SQL where SQLite and PostgreSQL differ. */
export type SqlDialect = 'sqlite' | 'postgres'

/** The dialect of a Kysely instance. */
export function sqlDialectOf(db: Kysely<Tables>): SqlDialect {
  return db.getExecutor().adapter instanceof SqliteAdapter ? 'sqlite' : 'postgres'
}

/** The type of a column that holds bytes. */
export function bytesType(dialect: SqlDialect): 'blob' | 'bytea' {
  return dialect === 'sqlite' ? 'blob' : 'bytea'
}

/**
 * The right side of SQL's `in`, with the texts in one JSON parameter: one compiled statement serves
 * lists of any length, and databases limit the number of parameters.
 */
export function listed(db: Kysely<Tables>, texts: readonly string[]) {
  const list = JSON.stringify(texts)
  return sqlDialectOf(db) === 'sqlite'
    ? sql<string>`(select value from json_each(${list}))`
    : sql<string>`(select json_array_elements_text(${list}::json))`
}
