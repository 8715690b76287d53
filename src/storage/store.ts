import { join } from 'node:path'
import { Kysely, type CompiledQuery } from 'kysely'
import { examine } from './examine.ts'
import { closeToOthers, makeFile, makeFolder } from './folder.ts'
import { useFolder } from './folder-lock.ts'
import { integersPlugin } from './integers.ts'
import { migrate, updateRemedy } from './migrations.ts'
import { openReader, type Reader } from './reader.ts'
import type { CommitOptions, SqlValue, Statement } from './sqlite-file.ts'
import { openSqlite } from './sqlite.ts'
import { cannotOpen, StoreError } from './store-error.ts'
import type { Tables } from './tables.ts'

/** A statement for `commit`, compiled by Kysely or made by `insertion`. */
export type StoreStatement = Pick<CompiledQuery, 'sql' | 'parameters'>

/** `unlessThere`: a row whose key is there already is left as it is. */
type InsertionOptions = { unlessThere?: boolean }

/** The relational store of everything that must not be lost. */
export type Store = {
  db: Kysely<Tables>
  /** The statement that inserts a row; its SQL is compiled once per table. */
  insertion<Name extends keyof Tables>(
    table: Name,
    row: Tables[Name],
    options?: InsertionOptions,
  ): StoreStatement
  /**
   * Runs statements in one transaction; resolves when they are durable, with the rows that each
   * changed. Throws a StoreError.
   */
  commit(statements: readonly StoreStatement[], options?: CommitOptions): Promise<readonly number[]>
  /** For reports, which must not hold up whatever else the store does. */
  reader: Reader
  /** What the operator should know of the files, as they were when they were opened. */
  notices: readonly string[]
  close(): Promise<void>
}

type Options = {
  dataDir: string
  durability: 'normal' | 'full'
  limits: {
    storeBusyTimeoutMs: number
    storeAnswerTimeoutMs: number
    storeQueueMax: number
    storeCheckBytesMax: number
    storeDamagedCopiesMax: number
    reportTimeoutMs: number
    reportsWaitingMax: number
    reportsPerAccountMax: number
  }
}

/** Between two of them the log grows by what is committed meanwhile. */
const logRestartMs = 1000

/** The file of the store in `dataDir`. */
export const storePath = (dataDir: string): string => join(dataDir, 'gateway.db')

/** Opens the embedded store in `dataDir`, creating and migrating it as needed. */
export async function openStore(options: Options): Promise<Store> {
  makeFolder(options.dataDir)
  const lock = await useFolder(options.dataDir)
  try {
    const store = await openFiles(options)
    return {
      ...store,
      close: async () => {
        await store.close()
        lock.release()
      },
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

async function openFiles({ dataDir, durability, limits }: Options): Promise<Store> {
  const path = storePath(dataDir)
  const { storeBusyTimeoutMs: busyTimeoutMs, storeQueueMax: queueMax } = limits
  const { storeCheckBytesMax: checkBytesMax, storeDamagedCopiesMax: damagedCopiesMax } = limits
  const opened = closeToOthers(dataDir)
  const found = await examine({ path, checkBytesMax, damagedCopiesMax, busyTimeoutMs })
  makeFile(path)
  const { dialect, commit, ready, restartLog } = openSqlite({
    path,
    durability,
    busyTimeoutMs,
    queueMax,
  })
  const db = new Kysely<Tables>({ dialect, plugins: [integersPlugin] })
  await migrate(db, 'sqlite').catch(async (error: unknown) => {
    // The store's thread would keep the process alive.
    await db.destroy().catch(() => undefined)
    throw withRemedy(error, path)
  })
  // Not before: a migration of a large store may take long.
  ready(limits.storeAnswerTimeoutMs)
  const reader = openReader({
    path,
    durability,
    busyTimeoutMs,
    timeoutMs: limits.reportTimeoutMs,
    waitingMax: limits.reportsWaitingMax,
    perAccountMax: limits.reportsPerAccountMax,
    restartLog,
    logRestartMs,
  })
  return {
    db,
    reader,
    notices: [...opened, ...found],
    insertion: createInsertions(db),
    // Kysely's type is unknown, but the tables hold only strings, numbers and nulls.
    commit: async (statements, commitOptions) =>
      statements.length === 0 ? [] : commit(statements as readonly Statement[], commitOptions),
    close: async () => {
      await reader.close()
      await db.destroy()
    },
  }
}

function withRemedy(error: unknown, path: string): unknown {
  const isTold = error instanceof StoreError && !error.message.endsWith(updateRemedy)
  return isTold ? cannotOpen(path, error) : error
}

/**
 * Compiles the SQL of a table from its first row: all further rows must have its columns. What goes in
 * `unlessThere` may be of an older version, with fewer of them.
 */
function createInsertions(db: Kysely<Tables>): Store['insertion'] {
  const compiled = new Map<string, Compiled>()
  const compile = (table: keyof Tables, row: object, unlessThere: boolean): Compiled => {
    const insert = db.insertInto(table).values(row)
    const { sql } = (unlessThere ? insert.onConflict((one) => one.doNothing()) : insert).compile()
    return { sql, columns: Object.keys(row) }
  }
  return (table, row, { unlessThere = false } = {}) => {
    const kind = unlessThere ? `${table}: ${Object.keys(row).join()}` : table
    let statement = compiled.get(kind)
    if (statement === undefined) {
      statement = compile(table, row, unlessThere)
      compiled.set(kind, statement)
    }
    const { sql, columns } = statement
    // Every column of every table is a SqlValue. Read by name, since the order may differ.
    const values = row as Readonly<Record<string, SqlValue>>
    return { sql, parameters: columns.map((column) => values[column]) }
  }
}

type Compiled = { sql: string; columns: readonly string[] }
