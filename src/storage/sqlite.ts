import {
  CompiledQuery,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type DatabaseConnection,
  type Dialect,
  type Driver,
} from 'kysely'
import {
  createCommits,
  type CommitOptions,
  type FileOptions,
  type SqlValue,
  type Statement,
} from './sqlite-file.ts'
import { startThread, type Unsent } from './sqlite-thread.ts'
import { StoreError } from './store-error.ts'

/** An SQLite file in a thread of its own. */
type SqliteThread = {
  dialect: Dialect
  /** Runs statements in one transaction; resolves with the rows that each changed. */
  commit(statements: readonly Statement[], options?: CommitOptions): Promise<readonly number[]>
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
  const connectTo = (current: number): DatabaseConnection => ({
    executeQuery: async <Row>({ sql, parameters }: CompiledQuery) => {
      // Kysely's type is unknown, but the tables hold only strings, numbers and nulls.
      const values = parameters as readonly SqlValue[]
      const query: Unsent = { kind: 'query', sql, parameters: values }
      const { rows, changes } = await thread.ask(query, current)
      // Kysely has derived `Row` from the query that returned these rows.
      return { rows: rows as Row[], numAffectedRows: BigInt(changes[0] ?? 0) }
    },
    // eslint-disable-next-line require-yield -- the interface wants a generator
    streamQuery: async function* () {
      throw new StoreError('The embedded store does not stream rows.')
    },
  })
  const execute = (sql: string) => async (connection: DatabaseConnection) => {
    await connection.executeQuery(CompiledQuery.raw(sql))
  }
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
      const sql = 'PRAGMA wal_checkpoint(RESTART)'
      await askExclusively({ kind: 'query', sql, parameters: [] })
    },
  })
  const driver: Driver = {
    init: async () => undefined,
    acquireConnection: async () => {
      await lock.acquire()
      return connectTo(thread.current())
    },
    // Takes the write lock at once: SQLite may not wait for it in a transaction that has read.
    beginTransaction: execute('begin immediate'),
    commitTransaction: execute('commit'),
    rollbackTransaction: execute('rollback'),
    releaseConnection: async () => lock.release(),
    destroy: async () => {
      commits.close()
      await thread.stop()
    },
  }
  return {
    dialect: {
      createDriver: () => driver,
      createQueryCompiler: () => new SqliteQueryCompiler(),
      createAdapter: createTransactionalAdapter,
      createIntrospector: (db) => new SqliteIntrospector(db),
    },
    commit: commits.commit,
    ready: (answerTimeoutMs) => {
      thread.limitAnswers(answerTimeoutMs)
      commits.hold()
    },
  }
}

/**
 * SQLite can change tables in a transaction, so migrations can run under its write lock. That there is
 * one connection is seen to by the lock here, which the ledger's commits take too, and which has a
 * bounded queue.
 */
function createTransactionalAdapter(): SqliteAdapter {
  return Object.defineProperties(new SqliteAdapter(), {
    supportsTransactionalDdl: { value: true },
    supportsMultipleConnections: { value: true },
  })
}

/** A mutex that is granted in the order of `acquire`, for which at most `queueMax` may wait. */
function createLock(queueMax: number) {
  const waiting: (() => void)[] = []
  let held = false
  return {
    acquire: (): Promise<void> | undefined => {
      if (held && waiting.length >= queueMax) {
        return Promise.reject(new StoreError('Too many queries wait for the store.'))
      }
      if (held) return new Promise((resolve) => waiting.push(resolve))
      held = true
      return undefined
    },
    release: () => {
      const next = waiting.shift()
      if (next === undefined) held = false
      else next()
    },
  }
}
