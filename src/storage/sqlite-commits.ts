import { openSqliteFile, type FileOptions, type SqliteFile, type Statement } from './sqlite-file.ts'
import { toStoreError } from './store-error.ts'

/** What the store's thread does for commits; each call waits its turn there. */
export type Thread = {
  commit(statements: readonly Statement[]): Promise<void>
  /** Moves the write-ahead log into the database file, so that the log starts anew. */
  checkpoint(): Promise<void>
}

/** SQLite's own default is a thousand pages; a commit of a usual group changes a few. */
const commitsPerCheckpoint = 300

/**
 * Commits on the event loop's own connection where that cannot block it: such a commit only copies a few
 * pages into the page cache, while two messages between threads cost more than the commit itself
 * (docs/storage.md#threads). The thread does whatever may wait: commits that flush to disk
 * (`durability: full`), commits that meet another connection's lock, checkpoints, and the first commit
 * after a checkpoint, which flushes the log's new header.
 */
export function createCommits(options: FileOptions, thread: Thread) {
  const flushes = options.durability === 'full'
  let here: SqliteFile | undefined
  let commits = 0
  /** From the start of a checkpoint until the thread has committed after it. */
  let restarting = false

  const commitHere = (statements: readonly Statement[]): boolean => {
    if (flushes || restarting) return false
    try {
      here ??= openHere(options)
      here.commit(statements)
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
    // The next checkpoint makes up for one that fails.
    thread.checkpoint().catch(() => undefined)
  }

  return {
    /** Resolves when the statements are durable. Throws a StoreError. */
    commit: async (statements: readonly Statement[]): Promise<void> => {
      if (commitHere(statements)) return
      await thread.commit(statements)
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
