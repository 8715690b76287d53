import { openSqliteFile, type FileOptions, type SqliteFile, type SqlRows } from './sqlite-file.ts'
import { toStoreError } from './store-error.ts'

/** What the store's thread does for inserts; each waits for the thread. */
export type Thread = {
  insertMany(sql: string, rows: SqlRows): Promise<void>
  /** Moves the write-ahead log into the file, so that it begins anew. */
  checkpoint(): Promise<void>
}

/** SQLite's own default is a thousand pages; a commit of a usual group changes a few. */
const commitsPerCheckpoint = 300

/**
 * Inserts rows without a visit to the store's thread, where that cannot hold up the event loop: such a
 * commit only copies a few pages into the system's cache, while two messages between threads cost
 * more than the commit itself. Whatever may wait is the thread's: commits that flush
 * (`durability: full`), those that another connection's lock stands against, checkpoints, and the
 * first commit behind one, which flushes the log's new header.
 */
export function createInserts(options: FileOptions, thread: Thread) {
  const flushes = options.durability === 'full'
  let here: SqliteFile | undefined
  let commits = 0
  /** From a checkpoint's beginning until the thread has committed behind it. */
  let restarting = false

  const insertHere = (sql: string, rows: SqlRows): boolean => {
    if (flushes || restarting) return false
    try {
      here ??= openHere(options)
      here.insertMany(sql, rows)
    } catch (error) {
      const failure = toStoreError(error)
      if (failure.isBusy) return false
      throw failure
    }
    if (++commits >= commitsPerCheckpoint) restart()
    return true
  }
  const restart = () => {
    commits = 0
    restarting = true
    // One that fails is made up for by the next.
    thread.checkpoint().catch(() => undefined)
  }

  return {
    /** Resolves when the rows are durable. Throws a StoreError. */
    insertMany: async (sql: string, rows: SqlRows): Promise<void> => {
      if (insertHere(sql, rows)) return
      await thread.insertMany(sql, rows)
      // The thread works in order: the checkpoint, if there was one, is done.
      restarting = false
    },
    close: () => here?.database.close(),
  }
}

function openHere(options: FileOptions): SqliteFile {
  const file = openSqliteFile(options)
  file.database.exec('PRAGMA busy_timeout = 0; PRAGMA wal_autocheckpoint = 0')
  return file
}
