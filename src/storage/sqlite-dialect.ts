import {
  CompiledQuery,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type DatabaseConnection,
  type Dialect,
  type Driver,
} from 'kysely'
import type { SqlValue } from './sqlite-file.ts'
import type { StoreThread, Unsent } from './sqlite-thread.ts'
import { StoreError } from './store-error.ts'

/** Kysely's dialect for a driver with one connection. */
export function dialectOf(driver: Driver): Dialect {
  return {
    createDriver: () => driver,
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: createTransactionalAdapter,
    createIntrospector: (db) => new SqliteIntrospector(db),
  }
}

/** A connection to the thread numbered `current`; it fails after that thread was replaced. */
export function connectionOf(
  thread: Pick<StoreThread, 'ask'>,
  current: number,
): DatabaseConnection {
  return {
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
      throw new StoreError(
        'SQLite is read in pages: a streamed query would keep its write-ahead log from restarting.',
      )
    },
  }
}

/** Runs one statement. */
export const execute = (sql: string) => async (connection: DatabaseConnection) => {
  await connection.executeQuery(CompiledQuery.raw(sql))
}

/**
 * SQLite can change tables in a transaction, so migrations run under its write lock. The gateway's lock
 * serializes the one connection instead of Kysely's: the ledger's commits acquire it too, and its queue
 * is bounded.
 */
function createTransactionalAdapter(): SqliteAdapter {
  return Object.defineProperties(new SqliteAdapter(), {
    supportsTransactionalDdl: { value: true },
    supportsMultipleConnections: { value: true },
  })
}

/** A first-in, first-out mutex; `acquire` fails if `queueMax` callers wait already. */
export function createLock(queueMax: number) {
  const waiting: (() => void)[] = []
  let isTaken = false
  return {
    waiting: () => waiting.length,
    acquire: (): Promise<void> | undefined => {
      if (isTaken && waiting.length >= queueMax) {
        return Promise.reject(new StoreError('Too many queries wait for the store.'))
      }
      if (isTaken) return new Promise((resolve) => waiting.push(resolve))
      isTaken = true
      return undefined
    },
    release: () => {
      const next = waiting.shift()
      if (next === undefined) isTaken = false
      else next()
    },
  }
}
