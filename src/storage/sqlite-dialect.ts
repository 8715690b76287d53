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

/** The dialect of a driver that has one connection. */
export function dialectOf(driver: Driver): Dialect {
  return {
    createDriver: () => driver,
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: createTransactionalAdapter,
    createIntrospector: (db) => new SqliteIntrospector(db),
  }
}

/** The connection of a thread, as long as that is the `current` one. */
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
      throw new StoreError('The embedded store is read by pages: a long query would hold its log.')
    },
  }
}

/** Runs one statement. */
export const execute = (sql: string) => async (connection: DatabaseConnection) => {
  await connection.executeQuery(CompiledQuery.raw(sql))
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
export function createLock(queueMax: number) {
  const waiting: (() => void)[] = []
  let held = false
  return {
    waiting: () => waiting.length,
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
