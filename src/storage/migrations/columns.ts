import type { SqlDialect } from '../sql-dialect.ts'

/** A column: its type, the rest of its definition in SQL, and the type of its values. */
export type Column<Value = unknown> = {
  type: keyof (typeof types)[SqlDialect]
  rest: string
  /** Exists only in the type. */
  value?: Value
}

export type Table = {
  columns: Readonly<Record<string, Column>>
  /** The columns of the primary key, by the name of its constraint; absent if it is one column. */
  key?: Readonly<Record<string, readonly string[]>>
  indexes?: Readonly<Record<string, readonly string[]>>
  /** Stores the rows in the order of the key, which PostgreSQL cannot do. */
  inKeyOrder?: true
}

/** The values of a table's columns. */
export type Row<Columns> = {
  -readonly [Name in keyof Columns]: Columns[Name] extends Column<infer Value> ? Value : never
}

const types = {
  sqlite: { text: 'text', bigint: 'bigint', bytes: 'blob' },
  // Compares texts byte by byte in any locale, as SQLite does.
  postgres: { text: 'text collate "C"', bigint: 'bigint', bytes: 'bytea' },
} as const satisfies Record<SqlDialect, object>

export const id: Column<string> = { type: 'text', rest: ' primary key' }
export const text: Column<string> = { type: 'text', rest: ' not null' }
export const uniqueText: Column<string> = { type: 'text', rest: ' not null unique' }
export const optionalText: Column<string | null> = { type: 'text', rest: '' }
export const integer: Column<number> = { type: 'bigint', rest: ' not null' }
export const optionalInteger: Column<number | null> = { type: 'bigint', rest: '' }
/** For columns that rows of an older store lack. */
export const integerOrZero: Column<number> = { type: 'bigint', rest: ' default 0 not null' }
export const bytes: Column<Uint8Array> = { type: 'bytes', rest: ' not null' }

/** A text of a union, which the database does not check. */
export function oneOf<Value extends string | null>(rest = ' not null'): Column<Value> {
  return { type: 'text', rest }
}

/** The id of a row of another table. */
export function idIn(table: string): Column<string> {
  return { type: 'text', rest: ` not null references "${table}" ("id")` }
}

/** The columns of the primary key; a key of one column is the first column. */
export function keyOf({ columns, key = {} }: Table): readonly string[] {
  return Object.values(key)[0] ?? Object.keys(columns).slice(0, 1)
}

/** The definition of a column, for `create table` and `alter table`. */
export function columnSql(dialect: SqlDialect, name: string, { type, rest }: Column): string {
  return `"${name}" ${types[dialect][type]}${rest}`
}

/** The statements that create a table and its indexes. */
export function creating(dialect: SqlDialect, name: string, table: Table): string[] {
  const { columns, key = {}, indexes = {}, inKeyOrder = false } = table
  const list = (names: readonly string[]) => names.map((column) => `"${column}"`).join(', ')
  const parts = [
    ...Object.entries(columns).map(([column, one]) => columnSql(dialect, column, one)),
    ...Object.entries(key).map(([is, of]) => `constraint "${is}" primary key (${list(of)})`),
  ]
  const order = inKeyOrder && dialect === 'sqlite' ? ' without rowid' : ''
  return [
    `create table "${name}" (${parts.join(', ')})${order}`,
    ...Object.entries(indexes).map(([is, of]) => `create index "${is}" on "${name}" (${list(of)})`),
  ]
}

/** The statements that create PostgreSQL's table of deltas, each of which lives for a second. */
export function creatingDeltas(name: string, { columns, indexes = {} }: Table): string[] {
  const number: Column = { type: 'bigint', rest: ' generated always as identity primary key' }
  return [
    ...creating('postgres', name, { columns: { id: number, ...columns }, indexes }),
    // Truncating the file would lock out the triggers.
    `alter table ${name} set (autovacuum_vacuum_scale_factor = 0,
     autovacuum_vacuum_threshold = 5000, vacuum_truncate = false)`,
  ]
}
