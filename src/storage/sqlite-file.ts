import { DatabaseSync, type StatementSync } from 'node:sqlite'

export type FileOptions = { path: string; durability: 'normal' | 'full'; busyTimeoutMs: number }
export type SqlValue = string | number | bigint | null | Uint8Array
/** One statement with the values of its parameters. */
export type Statement = { sql: string; parameters: readonly SqlValue[] }

const statementsKept = 500

/** One connection to the store's file. Its calls are synchronous and block their thread. */
export type SqliteFile = {
  database: DatabaseSync
  /** The compiled statement, cached by its SQL. */
  prepare(sql: string): StatementSync
  /** Runs statements in one transaction. Throws the errors of node:sqlite. */
  commit(statements: readonly Statement[]): void
}

export function openSqliteFile({ path, durability, busyTimeoutMs }: FileOptions): SqliteFile {
  const database = new DatabaseSync(path, {
    timeout: busyTimeoutMs,
    enableForeignKeyConstraints: true,
  })
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${durability.toUpperCase()}`)
  const statements = new Map<string, StatementSync>()

  const prepare = (sql: string): StatementSync => {
    const kept = statements.get(sql)
    if (kept !== undefined) return kept
    const statement = database.prepare(sql)
    if (statements.size < statementsKept) statements.set(sql, statement)
    return statement
  }

  return {
    database,
    prepare,
    commit: (statements) => {
      const run = ({ sql, parameters }: Statement) => void prepare(sql).run(...parameters)
      // One statement is a transaction by itself.
      if (statements.length === 1) return run(statements[0]!)
      prepare('BEGIN IMMEDIATE').run()
      try {
        for (const statement of statements) run(statement)
        prepare('COMMIT').run()
      } catch (error) {
        if (database.isTransaction) prepare('ROLLBACK').run()
        throw error
      }
    },
  }
}
