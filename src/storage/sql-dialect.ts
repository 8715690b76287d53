import { sql, SqliteAdapter, type Kysely, type RawBuilder } from 'kysely'

/** Selects the SQL where SQLite and PostgreSQL differ. */
export type SqlDialect = 'sqlite' | 'postgres'

type Database = Pick<Kysely<unknown>, 'getExecutor'>

/** The dialect of a Kysely instance. */
export function sqlDialectOf(db: Database): SqlDialect {
  return db.getExecutor().adapter instanceof SqliteAdapter ? 'sqlite' : 'postgres'
}

/** SQL: a table with the tags in a list of a row, in the column `value`. */
export function tagsOf(dialect: SqlDialect, list: RawBuilder<unknown>): RawBuilder<unknown> {
  return dialect === 'sqlite'
    ? sql`json_each(${list}) as tags_of_row`
    : sql`jsonb_array_elements_text(${list}::jsonb) as tags_of_row(value)`
}

/**
 * The right side of SQL's `in`, with the texts in one JSON parameter: one compiled statement serves
 * lists of any length, and databases limit the number of parameters.
 */
export function listed(db: Database, texts: readonly string[]) {
  const list = JSON.stringify(texts)
  return sqlDialectOf(db) === 'sqlite'
    ? sql<string>`(select value from json_each(${list}))`
    : sql<string>`(select json_array_elements_text(${list}::json))`
}
