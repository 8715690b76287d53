import {
  CompiledQuery,
  PostgresAdapter,
  PostgresDriver,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type DatabaseConnection,
  type Dialect,
  type PostgresDialectConfig,
  type TransactionSettings,
} from 'kysely'
import { setTimeout as sleep } from 'node:timers/promises'
import { endsConnection, isConflict } from './postgres-error.ts'
import type { Pool, PoolClient } from './postgres-pool.ts'
import { toStoreError } from './store-error.ts'
import type { InsertionOptions, Store, StoreStatement } from './store.ts'
import type { Tables } from './tables.ts'

/** Keys of the gateway's advisory locks: for migrations, transactions that exclude each other, and the fold of deltas. */
export const locks = { migration: 0x4d414701, writing: 0x4d414702, fold: 0x4d414703 }

type DialectOptions = {
  /**
   * Transactions of all processes exclude each other, as in SQLite: rows that a transaction has read do not
   * change before it ends. Commits of the ledger do not wait for transactions.
   */
  excludes?: boolean
  /** Transactions are read-only and see one snapshot (repeatable read). */
  reads?: boolean
}

/** Kysely's dialect over a pool. */
export function postgresDialect(pool: Pool, options: DialectOptions = {}): Dialect {
  return {
    createDriver: () => new PoolDriver({ pool }, options),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createAdapter: () => new PostgresAdapter(),
    createIntrospector: (db) => new PostgresIntrospector(db),
  }
}

class PoolDriver extends PostgresDriver {
  readonly #begin: string

  constructor(config: PostgresDialectConfig, { excludes, reads }: DialectOptions) {
    super(config)
    if (excludes === true) this.#begin = `begin; select pg_advisory_xact_lock(${locks.writing})`
    else this.#begin = reads === true ? 'begin isolation level repeatable read read only' : 'begin'
  }

  override async beginTransaction(
    connection: DatabaseConnection,
    settings: TransactionSettings,
  ): Promise<void> {
    const { isolationLevel, accessMode } = settings
    if (isolationLevel ?? accessMode) return super.beginTransaction(connection, settings)
    await connection.executeQuery(CompiledQuery.raw(this.#begin))
  }
}

const triesMax = 4
const retryPauseMaxMs = 20

/** Commits in one transaction. Retries after a conflict, and repeatable statements after a lost connection. */
export function createPostgresCommit(pool: Pool): Store['commit'] {
  const once = async (statements: readonly StoreStatement[]) => {
    const client = await pool.connect()
    try {
      // A single statement is a transaction by itself, and takes one round trip.
      if (statements.length === 1) return [await run(client, statements[0]!)]
      return await inTransaction(client, statements)
    } finally {
      client.release()
    }
  }
  return async (statements) => {
    if (statements.length === 0) return []
    const isRepeatable = statements.every(({ repeatable }) => repeatable)
    for (let tries = 1; ; tries++) {
      try {
        return await once(statements)
      } catch (error) {
        const mayRepeat =
          isConflict((error as Error).cause) || (isRepeatable && wasCut(error as Error))
        if (!mayRepeat || tries >= triesMax) throw error
        await sleep(Math.random() * retryPauseMaxMs)
      }
    }
  }
}

/** Repeats a query after a lost connection: any idle connection of the pool may have been closed. */
export async function retryAfterDisconnect<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask()
    } catch (error) {
      if (tries >= triesMax || !wasCut(toStoreError(error))) throw error
    }
  }
}

/** Whether the connection was lost, so that a new one may work; false for a server that does not answer. */
function wasCut({ cause }: { cause?: unknown }): boolean {
  return endsConnection(cause) && !/timeout|ECONNREFUSED/i.test(String(cause))
}

async function inTransaction(
  client: PoolClient,
  statements: readonly StoreStatement[],
): Promise<number[]> {
  const changes: number[] = []
  await client.query('begin', [])
  try {
    for (const statement of statements) changes.push(await run(client, statement))
    await client.query('commit', [])
    return changes
  } catch (error) {
    await client.query('rollback', []).catch(() => client.discard())
    throw error
  }
}

async function run(client: PoolClient, { sql, parameters }: StoreStatement): Promise<number> {
  const result = await client.query(sql, parameters)
  return 'rowCount' in result ? (result.rowCount ?? 0) : 0
}

/**
 * Inserts any number of rows of a table with one statement and one JSON parameter. Skips rows whose key
 * exists, so that a commit with an unknown outcome can be repeated.
 */
export function createPostgresInsertions(): Store['insertions'] {
  const compiled = new Map<string, string>()
  const textOf = (table: string, columns: readonly string[]): string => {
    const kind = `${table}: ${columns.join()}`
    const known = compiled.get(kind)
    if (known !== undefined) return known
    const names = columns.map((column) => `"${column}"`).join(', ')
    const text =
      `insert into "${table}" (${names}) select ${names} ` +
      `from json_populate_recordset(null::"${table}", $1) on conflict do nothing`
    compiled.set(kind, text)
    return text
  }
  return <Name extends keyof Tables>(
    table: Name,
    rows: readonly Tables[Name][],
    _options?: InsertionOptions,
  ) => {
    const byColumns = Map.groupBy(rows, (row) => Object.keys(row).join())
    return [...byColumns.values()].map((group): StoreStatement => {
      const sql = textOf(table, Object.keys(group[0]!))
      return { sql, parameters: [rowsText(group)], repeatable: true }
    })
  }
}

/** JSON escapes that PostgreSQL's text cannot hold: NUL and lone surrogates. */
const unstorable = /\\u(0000|d[89a-f])/

function rowsText(rows: readonly object[]): string {
  const text = JSON.stringify(rows)
  if (!unstorable.test(text)) return text
  return JSON.stringify(rows, (_name, value: unknown) =>
    typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\u{fffd}') : value,
  )
}
