import { Worker } from 'node:worker_threads'
import {
  CompiledQuery,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type DatabaseConnection,
  type Dialect,
  type Driver,
} from 'kysely'
import { createCommits, type FileOptions, type SqlValue, type Statement } from './sqlite-file.ts'
import type { QueryOutcome, WorkerReply, WorkerRequest } from './sqlite-worker.ts'
import { StoreError, toStoreError } from './store-error.ts'

/** A request without its id; distributes `Omit` over the union. */
type Unsent = WorkerRequest extends infer R
  ? R extends { id: number }
    ? Omit<R, 'id'>
    : never
  : never

/** An SQLite file in a thread of its own. */
type SqliteThread = {
  dialect: Dialect
  /** Runs statements in one transaction. */
  commit(statements: readonly Statement[]): Promise<void>
}

/** Opens the file in a worker thread, whose only connection a transaction holds exclusively. */
export function openSqlite(options: FileOptions): SqliteThread {
  const { ask, stop } = startWorker(options)
  const lock = createLock()
  const connection: DatabaseConnection = {
    executeQuery: async <Row>({ sql, parameters }: CompiledQuery) => {
      // Kysely's type is unknown, but the tables hold only strings, numbers and nulls.
      const values = parameters as readonly SqlValue[]
      const { rows, changes } = await ask({ kind: 'query', sql, parameters: values })
      // Kysely has derived `Row` from the query that returned these rows.
      return { rows: rows as Row[], numAffectedRows: BigInt(changes) }
    },
    // eslint-disable-next-line require-yield -- the interface wants a generator
    streamQuery: async function* () {
      throw new StoreError('The embedded store does not stream rows.')
    },
  }
  const execute = async (sql: string) => {
    await connection.executeQuery(CompiledQuery.raw(sql))
  }
  const askExclusively = async (request: Unsent) => {
    await lock.acquire()
    try {
      await ask(request)
    } finally {
      lock.release()
    }
  }
  const commits = createCommits(options, {
    commit: (statements) => askExclusively({ kind: 'commit', statements }),
    checkpoint: () =>
      askExclusively({ kind: 'query', sql: 'PRAGMA wal_checkpoint(RESTART)', parameters: [] }),
  })
  const driver: Driver = {
    init: async () => undefined,
    acquireConnection: async () => {
      await lock.acquire()
      return connection
    },
    // Takes the write lock at once: SQLite may not wait for it in a transaction that has read.
    beginTransaction: () => execute('begin immediate'),
    commitTransaction: () => execute('commit'),
    rollbackTransaction: () => execute('rollback'),
    releaseConnection: async () => lock.release(),
    destroy: async () => {
      commits.close()
      await stop()
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
  }
}

/** SQLite can change tables in a transaction, so migrations can run under its write lock. */
function createTransactionalAdapter(): SqliteAdapter {
  return Object.defineProperty(new SqliteAdapter(), 'supportsTransactionalDdl', { value: true })
}

/** Saves memory; few objects of the thread live long. */
const maxYoungGenerationSizeMb = 4

function startWorker(options: FileOptions) {
  const worker = new Worker(new URL('./sqlite-worker.ts', import.meta.url), {
    workerData: options,
    resourceLimits: { maxYoungGenerationSizeMb },
  })
  const waiting = new Map<number, PromiseWithResolvers<QueryOutcome>>()
  let last = 0
  let broken: Error | undefined
  worker.on('message', (reply: WorkerReply) => {
    const promise = waiting.get(reply.id)!
    waiting.delete(reply.id)
    if ('outcome' in reply) promise.resolve(reply.outcome)
    else promise.reject(toStoreError(reply.error))
  })
  const fail = (reason: string, cause?: Error) => {
    const message = `The store ${options.path} failed: ${reason}.`
    broken ??= new StoreError(message, undefined, { cause })
    for (const promise of waiting.values()) promise.reject(broken)
    waiting.clear()
  }
  worker.on('error', (cause: Error) => fail(cause.message, cause))
  worker.on('exit', () => fail('its thread has ended'))
  const ask = (request: Unsent): Promise<QueryOutcome> => {
    if (broken !== undefined) return Promise.reject(broken)
    const promise = Promise.withResolvers<QueryOutcome>()
    waiting.set(++last, promise)
    worker.postMessage({ ...request, id: last })
    return promise.promise
  }
  const stop = async () => {
    if (broken === undefined) await ask({ kind: 'close' })
    await worker.terminate()
  }
  return { ask, stop }
}

/** A mutex that is granted in the order of `acquire`. */
function createLock() {
  const waiting: (() => void)[] = []
  let held = false
  return {
    acquire: (): Promise<void> | undefined => {
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
