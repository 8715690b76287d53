import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Kysely, type CompiledQuery } from 'kysely'
import { integersPlugin } from './integers.ts'
import { migrate } from './migrations.ts'
import type { SqlValue, Statement } from './sqlite-file.ts'
import { openSqlite } from './sqlite.ts'
import type { Tables } from './tables.ts'

/** A statement of a commit, as Kysely compiles one or `insertion` prepares it. */
export type StoreStatement = Pick<CompiledQuery, 'sql' | 'parameters'>

/** The relational store: everything that must not be lost. */
export type Store = {
  db: Kysely<Tables>
  /** The statement that inserts a row; its SQL is compiled once a table. */
  insertion<Name extends keyof Tables>(table: Name, row: Tables[Name]): StoreStatement
  /** Runs statements in one transaction; resolves when it is durable. Throws a StoreError. */
  commit(statements: readonly StoreStatement[]): Promise<void>
  close(): Promise<void>
}

type Options = {
  dataDir: string
  durability: 'normal' | 'full'
  limits: { storeBusyTimeoutMs: number }
}

/** Opens the embedded store in `dataDir`, creating and migrating it as needed. */
export async function openStore({ dataDir, durability, limits }: Options): Promise<Store> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const path = join(dataDir, 'gateway.db')
  const busyTimeoutMs = limits.storeBusyTimeoutMs
  const { dialect, commit } = openSqlite({ path, durability, busyTimeoutMs })
  const db = new Kysely<Tables>({ dialect, plugins: [integersPlugin] })
  await migrate(db, 'sqlite').catch(async (error: unknown) => {
    // The store's thread would keep the process alive.
    await db.destroy().catch(() => undefined)
    throw error
  })
  return {
    db,
    insertion: createInsertions(db),
    commit: async (statements) => {
      // Tables hold texts, numbers and nulls alone.
      if (statements.length > 0) await commit(statements as readonly Statement[])
    },
    close: () => db.destroy(),
  }
}

/** Inserts of rows whose columns are those of the first row of their table. */
function createInsertions(db: Kysely<Tables>): Store['insertion'] {
  const compiled = new Map<string, { sql: string; columns: readonly string[] }>()
  const compile = (table: keyof Tables, row: object) => {
    // Kysely's types want one table's row; which table it is, the caller's types have checked.
    const { sql } = db
      .insertInto(table)
      .values(row as never)
      .compile()
    const statement = { sql, columns: Object.keys(row) }
    compiled.set(table, statement)
    return statement
  }
  return (table, row) => {
    const { sql, columns } = compiled.get(table) ?? compile(table, row)
    // By name, since a row may list its columns in another order.
    const values = row as Readonly<Record<string, SqlValue>>
    return { sql, parameters: columns.map((column) => values[column]) }
  }
}
