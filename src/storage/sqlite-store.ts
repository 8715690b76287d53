import { Kysely, sql, type DatabaseConnection, type Driver } from 'kysely'
import { restrictPermissions, makeFile } from './folder.ts'
import { useFolder } from './folder-lock.ts'
import { integersPlugin } from './integers.ts'
import { assertSchema, migrate, OtherVersion, type SchemaChange } from './migrations.ts'
import {
  createTurns,
  readingFailure,
  reportsWaitingMax,
  type Reader,
  type TurnLimits,
} from './reader.ts'
import { connectionOf, createLock, dialectOf, execute } from './sqlite-dialect.ts'
import type { FileOptions, SqlValue, Statement } from './sqlite-file.ts'
import { startThread, type StoreThread } from './sqlite-thread.ts'
import { openSqlite } from './sqlite.ts'
import { cannotOpen, StoreError } from './store-error.ts'
import { storePath, type Notice, type Store } from './store.ts'
import type { Tables } from './tables.ts'
import { assertOpenable, watchFiles } from './store-files.ts'

export type SqliteStoreOptions = {
  dataDir: string
  durability: 'normal' | 'full'
  /** Whether to check the file before opening it; only the first of several workers checks it. */
  examines?: boolean
  /** Which migrations may run; all of them if undefined. */
  schemaChange?: SchemaChange | undefined
  limits: {
    storeBusyTimeoutMs: number
    storeAnswerTimeoutMs: number
    storeQueueMax: number
    reportTimeoutMs: number
    reportsPerAccountMax: number
  }
}

/** Interval between log restarts: the log grows by the commits of one interval. */
const logRestartMs = 1000

/** Opens the embedded store in the folder `dataDir`. */
export async function openSqliteStore(options: SqliteStoreOptions, notice: Notice): Promise<Store> {
  const lock = await useFolder(options.dataDir)
  try {
    const store = await openFiles(options, notice)
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

async function openFiles(
  {
    dataDir,
    durability,
    limits,
    examines = true,
    schemaChange: change = 'migrate',
  }: SqliteStoreOptions,
  notice: Notice,
): Promise<Store> {
  const path = storePath(dataDir)
  const { storeBusyTimeoutMs: busyTimeoutMs, storeQueueMax: queueMax } = limits
  const opened = restrictPermissions(dataDir)
  if (examines)
    assertOpenable(path, busyTimeoutMs, (ran) =>
      assertSchema(ran, { change, place: dataDir, notice }),
    )
  const isNew = makeFile(path)
  const file = { path, durability, busyTimeoutMs }
  const { dialect, waiting, commit, ready, restartLog } = openSqlite({ ...file, queueMax })
  const db = new Kysely<Tables>({ dialect, plugins: [integersPlugin] })
  // A query always runs: Kysely calls `destroy`, which ends the driver's thread, only after a query.
  const begun = change === 'none' ? sql`select 1`.execute(db) : migrate(db, 'sqlite')
  await begun.catch(async (error: unknown) => {
    // Ends the store's thread, which would keep the process alive.
    await db.destroy().catch(() => undefined)
    const needsRemedy = error instanceof StoreError && !(error instanceof OtherVersion)
    throw needsRemedy ? cannotOpen(path, error) : error
  })
  // Set after the migrations, which may take long for a large store.
  ready(limits.storeAnswerTimeoutMs)
  const reader = openSqliteReader({
    ...file,
    timeoutMs: limits.reportTimeoutMs,
    waitingMax: reportsWaitingMax,
    perAccountMax: limits.reportsPerAccountMax,
    restartLog,
    logRestartMs,
  })
  for (const sentence of opened) notice(sentence)
  const files = await watchFiles(file, isNew)
  return {
    dialect: 'sqlite',
    db,
    reader,
    waiting,
    starting: (run) => run(),
    describe: async () => dataDir,
    check: files.check,
    look: files.look,
    insertions: createInsertions(db),
    // Kysely's type is unknown, but the tables hold only strings, numbers and nulls.
    commit: async (statements, commitOptions) =>
      statements.length === 0 ? [] : commit(statements as readonly Statement[], commitOptions),
    close: async () => {
      files.close()
      await reader.close()
      await db.destroy()
    },
  }
}

/**
 * Compiles the SQL of a table from its first row: all further rows must have the same columns. With
 * `unlessThere` rows may come from an older version, with fewer columns.
 */
function createInsertions(db: Kysely<Tables>): Store['insertions'] {
  const compiled = new Map<string, Compiled>()
  const compile = (table: keyof Tables, row: object, unlessThere: boolean): Compiled => {
    const insert = db.insertInto(table).values(row)
    const { sql } = (unlessThere ? insert.onConflict((one) => one.doNothing()) : insert).compile()
    return { sql, columns: Object.keys(row) }
  }
  const insertion = (table: keyof Tables, row: object, unlessThere: boolean) => {
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
  return (table, rows, { unlessThere = false } = {}) =>
    rows.map((row) => insertion(table, row, unlessThere))
}

type Compiled = { sql: string; columns: readonly string[] }

type ReaderOptions = Omit<FileOptions, 'readOnly'> &
  TurnLimits & {
    /** Time limit of one query. */
    timeoutMs: number
    /** Copies the write-ahead log into the store's file; never throws. */
    restartLog(): Promise<void>
    /** Minimum interval between log restarts, which run between two readers. */
    logRestartMs: number
  }

const idleMs = 60_000

/** Reads in a worker thread, which the first query starts and which ends after an idle minute. */
export function openSqliteReader(options: ReaderOptions): Reader {
  const { timeoutMs, waitingMax, perAccountMax, restartLog, logRestartMs, ...file } = options
  const lock = createLock(Infinity)
  let thread: StoreThread | undefined
  let idle: NodeJS.Timeout | undefined
  const stop = async () => {
    const stopped = thread
    thread = undefined
    await stopped?.stop()
  }
  const start = () => {
    const started = startThread({ ...file, readOnly: true })
    started.limitAnswers(timeoutMs)
    return started
  }
  let restartedAt = performance.now()
  const restartLogAtTimes = async () => {
    if (performance.now() - restartedAt < logRestartMs) return
    await restartLog()
    restartedAt = performance.now()
  }
  const driver: Driver = {
    init: async () => undefined,
    acquireConnection: async () => {
      await lock.acquire()
      clearTimeout(idle)
      await restartLogAtTimes()
      thread ??= start()
      return timed(connectionOf(thread, thread.current()), timeoutMs)
    },
    beginTransaction: execute('begin'),
    commitTransaction: execute('commit'),
    rollbackTransaction: execute('rollback'),
    releaseConnection: async () => {
      lock.release()
      clearTimeout(idle)
      idle = setTimeout(() => void stop(), idleMs).unref()
    },
    destroy: async () => {
      clearTimeout(idle)
      await stop()
    },
  }
  const db = new Kysely<Tables>({ dialect: dialectOf(driver), plugins: [integersPlugin] })
  const begin = createTurns({ waitingMax, perAccountMax }, lock.waiting)
  return { db, begin, close: () => db.destroy() }
}

function timed(connection: DatabaseConnection, timeoutMs: number): DatabaseConnection {
  return {
    ...connection,
    executeQuery: async (query, options) => {
      try {
        return await connection.executeQuery(query, options)
      } catch (cause) {
        throw readingFailure(cause, timeoutMs)
      }
    },
  }
}
