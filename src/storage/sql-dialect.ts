/** Selects the SQL where the databases differ. */
export type SqlDialect = 'sqlite' | 'postgres'

/** The type of a column that holds bytes. */
export function bytesType(dialect: SqlDialect): 'blob' | 'bytea' {
  return dialect === 'sqlite' ? 'blob' : 'bytea'
}
