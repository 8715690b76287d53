import type { Driver } from 'kysely'
import { createCommits, type FileOptions } from './sqlite-file.ts'
import { connectionOf, createLock, dialectOf, execute } from './sqlite-dialect.ts'
import { startThread, type Unsent } from './sqlite-thread.ts'
import { StoreError } from './store-error.ts'

type Options = FileOptions & {
  /** Maximum of queued queries and transactions; further ones are refused. */
  queueMax: number
}

/** Opens the file in a worker thread. During a transaction only the transaction uses the one connection. */
export function openSqlite(options: Options) {
  const thread = startThread(options)
  const lock = createLock(options.queueMax)
  const askExclusively = async (request: Unsent) => {
    await lock.acquire()
    try {
      return await thread.ask(request)
    } finally {
      lock.release()
    }
  }
  const commits = createCommits(options, {
    commit: async (statements, { waits = true } = {}) => {
      const { changes } = await askExclusively({ kind: 'commit', statements, waits })
      return changes
    },
    checkpoint: async () => {
      await askExclusively({ kind: 'checkpoint' })
    },
  })
  const driver: Driver = {
    init: async () => undefined,
    acquireConnection: async () => {
      await lock.acquire()
      return connectionOf(thread, thread.current())
    },
    // Acquires the write lock first: a transaction that has read may get SQLITE_BUSY at once.
    beginTransaction: execute('begin immediate'),
    commitTransaction: execute('commit'),
    // After a full disk SQLite has rolled back already; the first error is the one to report.
    rollbackTransaction: (connection) => execute('rollback')(connection).catch(unlessEnded),
    releaseConnection: async () => lock.release(),
    destroy: async () => {
      commits.close()
      await thread.stop()
    },
  }
  return {
    dialect: dialectOf(driver),
    waiting: lock.waiting,
    /** Runs statements in one transaction; resolves with the number of rows that each one changed. */
    commit: commits.commit,
    /** Copies the write-ahead log into the file, so that the log restarts; never throws. */
    restartLog: commits.restartLog,
    /** Call it after the migrations: from then on a query that takes longer fails. */
    ready: (answerTimeoutMs: number) => {
      thread.limitAnswers(answerTimeoutMs)
      commits.hold()
    },
  }
}

function unlessEnded(error: unknown): void {
  if (!(error instanceof StoreError && error.concernsStatement)) throw error
}
