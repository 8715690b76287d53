/** Selects the SQL where the databases differ. */
export type SqlDialect = 'sqlite' | 'postgres'
