import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Kysely } from 'kysely'
import { migrate } from './migrations.ts'
import { openSqlite } from './sqlite.ts'
import type { Tables } from './tables.ts'

/** The relational store: everything that must not be lost. */
export type Store = {
  db: Kysely<Tables>
  /** Inserts rows of one table with one commit; resolves when they are durable. */
  insertMany<Name extends keyof Tables>(table: Name, rows: readonly Tables[Name][]): Promise<void>
  close(): Promise<void>
}

type Options = { dataDir: string; durability: 'normal' | 'full' }

const busyTimeoutMs = 5000

/** Opens the embedded store in `dataDir`, creating and migrating it as needed. */
export async function openStore({ dataDir, durability }: Options): Promise<Store> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const path = join(dataDir, 'gateway.db')
  const { dialect, insertMany } = openSqlite({ path, durability, busyTimeoutMs })
  const db = new Kysely<Tables>({ dialect })
  await migrate(db).catch(async (error: unknown) => {
    // Its thread would keep the process alive.
    await db.destroy().catch(() => undefined)
    throw error
  })
  const compiled = new Map<string, { sql: string; columns: string[] }>()

  /** Compiled once: a row's columns are those of the first row that was inserted. */
  const statementFor = (table: keyof Tables, row: object) => {
    const known = compiled.get(table)
    if (known !== undefined) return known
    const { sql } = db
      .insertInto(table)
      .values(row as never)
      .compile()
    const statement = { sql, columns: Object.keys(row) }
    compiled.set(table, statement)
    return statement
  }

  return {
    db,
    insertMany: (table, rows) => {
      const [first] = rows
      if (first === undefined) return Promise.resolve()
      const { sql, columns } = statementFor(table, first)
      const values = rows.map((row) => columns.map((column) => row[column as keyof typeof row]))
      return insertMany(sql, values as never)
    },
    close: () => db.destroy(),
  }
}
