import { sql, SqliteAdapter, type Kysely } from 'kysely'
import type { Tables } from './tables.ts'

/** Selects the SQL where the databases differ. */
export type SqlDialect = 'sqlite' | 'postgres'

/** Which of them answers queries of Kysely's. */
export function sqlDialectOf(db: Kysely<Tables>): SqlDialect {
  return db.getExecutor().adapter instanceof SqliteAdapter ? 'sqlite' : 'postgres'
}

/** The type of a column that holds bytes. */
export function bytesType(dialect: SqlDialect): 'blob' | 'bytea' {
  return dialect === 'sqlite' ? 'blob' : 'bytea'
}

/**
 * A list of texts for `in`, as one text however many there are: the store keeps compiled statements,
 * and takes so many parameters only.
 */
export function listed(db: Kysely<Tables>, texts: readonly string[]) {
  const list = JSON.stringify(texts)
  return sqlDialectOf(db) === 'sqlite'
    ? sql<string>`(select value from json_each(${list}))`
    : sql<string>`(select json_array_elements_text(${list}::json))`
}
