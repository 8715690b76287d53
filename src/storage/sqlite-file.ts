import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { toStoreError } from './store-error.ts'
import type { CommitOptions } from './store.ts'

export type FileOptions = {
  path: string
  durability: 'normal' | 'full'
  busyTimeoutMs: number
  /** Refuses writes. */
  readOnly?: boolean
}
export type SqlValue = string | number | bigint | null | Uint8Array
export type Statement = { sql: string; parameters: readonly SqlValue[] }

const statementsKept = 500

/** One connection to the store's file. Its calls are synchronous and block their thread. */
type SqliteFile = {
  database: DatabaseSync
  prepare(sql: string): StatementSync
  /** Runs statements in one transaction; returns the rows that each one changed. Throws node:sqlite's errors. */
  commit(statements: readonly Statement[]): number[]
}

export function openSqliteFile({
  path,
  durability,
  busyTimeoutMs,
  readOnly = false,
}: FileOptions): SqliteFile {
  const database = new DatabaseSync(path, {
    timeout: busyTimeoutMs,
    enableForeignKeyConstraints: true,
    readOnly,
  })
  if (!readOnly) {
    database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${durability.toUpperCase()}`)
  }
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
      const run = ({ sql, parameters }: Statement) =>
        Number(prepare(sql).run(...parameters).changes)
      // One statement is a transaction by itself.
      if (statements.length === 1) return [run(statements[0]!)]
      prepare('BEGIN IMMEDIATE').run()
      try {
        const changes = statements.map(run)
        prepare('COMMIT').run()
        return changes
      } catch (error) {
        if (database.isTransaction) prepare('ROLLBACK').run()
        throw error
      }
    },
  }
}

/** The store's worker thread, which runs calls in order. */
type Thread = {
  commit(statements: readonly Statement[], options?: CommitOptions): Promise<readonly number[]>
  /** Copies the write-ahead log into the database file, so that the log restarts. */
  checkpoint(): Promise<void>
}

/** Close to SQLite's default of 1000 pages, since a commit usually changes a few pages. */
const commitsPerCheckpoint = 300

/**
 * Commits on the event loop, over its own connection, where that cannot block: such a commit only
 * copies a few pages into the page cache, which costs less than two messages between threads
 * (docs/storage.md#threads). The worker thread does what may block: commits that flush to disk
 * (`durability: full`), commits that find the database locked, checkpoints, and the first commit
 * after a checkpoint, which flushes the log's new header.
 */
export function createCommits(options: FileOptions, thread: Thread) {
  const flushes = options.durability === 'full'
  let here: SqliteFile | undefined
  let commits = 0
  /** Set from the start of a checkpoint until the thread has committed after the checkpoint. */
  let checkpoint: Promise<void> | undefined

  const commitHere = (statements: readonly Statement[]): readonly number[] | undefined => {
    if (flushes || checkpoint !== undefined) return undefined
    let changes: readonly number[]
    try {
      here ??= openHere(options)
      changes = here.commit(statements)
    } catch (error) {
      const failure = toStoreError(error)
      if (failure.isBusy) return undefined
      throw failure
    }
    if (++commits >= commitsPerCheckpoint) restart()
    return changes
  }
  const restart = () => {
    commits = 0
    // If the checkpoint fails, the next checkpoint copies the whole log.
    checkpoint = thread.checkpoint().catch(() => undefined)
  }

  return {
    /** Copies the log into the file. The log restarts only if no connection is reading. */
    restartLog: async (): Promise<void> => {
      if (checkpoint === undefined) restart()
      await checkpoint
    },
    /**
     * Opens the event loop's connection: while one is open, SQLite keeps its log files, also when the
     * worker thread is replaced. Does not wait for locks; if busy, the next commit opens it.
     */
    hold: () => {
      try {
        here ??= openHere(options)
        here.prepare('SELECT count(*) FROM sqlite_schema').get()
      } catch (error) {
        if (!toStoreError(error).isBusy) throw toStoreError(error)
      }
    },
    /** Resolves with the rows that each statement changed, once they are durable. Throws a StoreError. */
    commit: async (
      statements: readonly Statement[],
      options?: CommitOptions,
    ): Promise<readonly number[]> => {
      const { waits, isLarge } = options ?? {}
      const done = waits === false || isLarge ? undefined : commitHere(statements)
      if (done !== undefined) return done
      const before = checkpoint
      const changes = await thread.commit(statements, options)
      // The thread works in order: a checkpoint that began before this commit is done.
      if (checkpoint === before) checkpoint = undefined
      return changes
    },
    close: () => here?.database.close(),
  }
}

function openHere(options: FileOptions): SqliteFile {
  const file = openSqliteFile({ ...options, busyTimeoutMs: 0 })
  file.database.exec('PRAGMA wal_autocheckpoint = 0')
  return file
}
