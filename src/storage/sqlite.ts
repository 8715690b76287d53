import type { Dialect, Driver } from 'kysely'
import { createCommits, type FileOptions, type Statement } from './sqlite-file.ts'
import { connectionOf, createLock, dialectOf, execute } from './sqlite-dialect.ts'
import { startThread, type Unsent } from './sqlite-thread.ts'
import { StoreError } from './store-error.ts'
import type { CommitOptions } from './store.ts'

/** An SQLite file in a thread of its own. */
type SqliteThread = {
  dialect: Dialect
  /** Runs statements in one transaction; resolves with the rows that each changed. */
  commit(statements: readonly Statement[], options?: CommitOptions): Promise<readonly number[]>
  /** Copies the log into the file, so that it begins anew; never throws. */
  restartLog(): Promise<void>
  /** To be called when the file has its tables: from now on the thread may take so long over one query. */
  ready(answerTimeoutMs: number): void
}

type Options = FileOptions & {
  /** Queries and transactions that wait for their turn; more are refused. */
  queueMax: number
}

/** Opens the file in a worker thread, whose only connection a transaction holds exclusively. */
export function openSqlite(options: Options): SqliteThread {
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
    // Takes the write lock at once: SQLite may not wait for it in a transaction that has read.
    beginTransaction: execute('begin immediate'),
    commitTransaction: execute('commit'),
    // A full disk has ended it already; what is told is why.
    rollbackTransaction: (connection) => execute('rollback')(connection).catch(unlessEnded),
    releaseConnection: async () => lock.release(),
    destroy: async () => {
      commits.close()
      await thread.stop()
    },
  }
  return {
    dialect: dialectOf(driver),
    commit: commits.commit,
    restartLog: commits.restartLog,
    ready: (answerTimeoutMs) => {
      thread.limitAnswers(answerTimeoutMs)
      commits.hold()
    },
  }
}

function unlessEnded(error: unknown): void {
  if (!(error instanceof StoreError && error.concernsStatement)) throw error
}
