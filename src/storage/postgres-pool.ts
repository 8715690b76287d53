import type { PostgresPool, PostgresPoolClient } from 'kysely'
import pg from 'pg'
import Cursor from 'pg-cursor'
import { placeOf, verifying } from './postgres-address.ts'
import { endsConnection, isStalePlan, postgresError, type PostgresPlace } from './postgres-error.ts'
import { StoreError } from './store-error.ts'

export type PoolOptions = {
  url: string
  connectionsMax: number
  connectTimeoutMs: number
  /** How long one query may take; undefined for as long as it takes. */
  queryTimeoutMs?: number
  /** Writes are refused. */
  readOnly?: boolean
  /** Statements are prepared once for each connection, by names; else planned for their values. */
  prepares?: boolean
  /** Makes the error that a query fails with, from a StoreError. */
  failure?: (error: StoreError) => unknown
}

/** Connections of which each query ends in time, and fails with a StoreError. */
export type Pool = Omit<PostgresPool, 'connect'> & {
  connect(): Promise<PoolClient>
  /** Those who wait for a connection. */
  waiting(): number
}
export type PoolClient = PostgresPoolClient & {
  /** No more use: its transaction may be open. */
  discard(): void
}

/** A server is asked to end a query before its client gives up. */
const spareMs = 500
const statementsKept = 500
const endTimeoutMs = 2000
/** While connections cannot be made, so often one is tried; the others fail at once. */
const retryMs = 500

export const cursorOf = Cursor

export function createPool(options: PoolOptions): Pool {
  const place = placeOf(options.url)
  const pool = new pg.Pool(poolConfig(options))
  // A connection that ends while nobody asks it is replaced by the next use; nobody else hears of it.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  const names = createNames(options.prepares === true)
  const clients = new WeakMap<pg.PoolClient, PoolClient>()
  const door = createDoor()
  const tell = (failure: StoreError) => options.failure?.(failure) ?? failure
  return {
    options: {},
    connect: async () => {
      const shut = door.closedBy()
      if (shut !== undefined) throw tell(shut)
      try {
        const client = await pool.connect()
        door.open()
        const known = clients.get(client)
        if (known !== undefined) return known
        const wrapped = clientOf(client, { place, names, failed: door.close, tell })
        clients.set(client, wrapped)
        return wrapped
      } catch (error) {
        const failure = postgresError(error, place)
        door.close(failure)
        throw tell(failure)
      }
    },
    waiting: () => pool.waitingCount,
    end: async () => {
      const late = Promise.withResolvers<void>()
      // A server that hangs does not say good-bye.
      const timer = setTimeout(late.resolve, endTimeoutMs)
      await Promise.race([pool.end(), late.promise]).finally(() => clearTimeout(timer))
    },
  }
}

function poolConfig(options: PoolOptions): pg.PoolConfig {
  const { queryTimeoutMs, readOnly = false } = options
  const limits =
    queryTimeoutMs === undefined
      ? {}
      : {
          statement_timeout: queryTimeoutMs,
          query_timeout: queryTimeoutMs + spareMs,
          idle_in_transaction_session_timeout: 2 * queryTimeoutMs,
        }
  return {
    connectionString: verifying(options.url),
    application_name: 'model-access-gateway',
    max: options.connectionsMax,
    connectionTimeoutMillis: options.connectTimeoutMs,
    keepAlive: true,
    types: { getTypeParser: parserOf as typeof pg.types.getTypeParser },
    ...limits,
    ...(readOnly ? { options: '-c default_transaction_read_only=on' } : {}),
  }
}

const types = { boolean: 16, int8: 20, numeric: 1700 }

/** Integers are numbers and truths 1 and 0, as in the embedded store. */
function parserOf(type: number, format?: 'text' | 'binary'): unknown {
  if (type === types.int8 || type === types.numeric) return integer
  if (type === types.boolean) return (text: string) => (text === 't' ? 1 : 0)
  return pg.types.getTypeParser(type, format)
}

function integer(text: string): number {
  const number = Number(text)
  if (Number.isSafeInteger(number)) return number
  throw new StoreError(`The store holds ${text}, which is not a safe integer.`)
}

type Naming = {
  of(text: string): string | undefined
  /** Gives the statement another name than one under which PostgreSQL has an old plan. */
  renew(text: string, stale: string): void
}

/** A name for each statement that is kept prepared. */
function createNames(prepares: boolean): Naming {
  const names = new Map<string, string>()
  let given = 0
  const renew = (text: string) => {
    const name = `s${given++}`
    names.set(text, name)
    return name
  }
  return {
    of: (text) => {
      const known = names.get(text)
      return known !== undefined || !prepares || names.size >= statementsKept ? known : renew(text)
    },
    // Of several connections that meet an old plan, one renews.
    renew: (text, stale) => void (names.get(text) === stale && renew(text)),
  }
}

type Around = {
  place: PostgresPlace
  names: Naming
  /** Told where the server does not answer in time. */
  failed(error: StoreError): void
  /** Makes the error that a query fails with. */
  tell(error: StoreError): unknown
}

function clientOf(client: pg.PoolClient, around: Around): PoolClient {
  const { place, names, failed, tell } = around
  let isOver = false
  client.on('error', () => (isOver = true))
  const once = async (
    text: string,
    values: unknown[],
    isAgain = false,
  ): Promise<pg.QueryResult> => {
    // What has no values may be several statements, which have no names.
    const name = values.length === 0 ? undefined : names.of(text)
    try {
      return await client.query(
        values.length === 0 ? { text } : { text, values, ...(name === undefined ? {} : { name }) },
      )
    } catch (error) {
      if (name === undefined || !isStalePlan(error)) throw error
      names.renew(text, name)
      // A transaction is lost with its statement.
      if (isAgain || client.getTransactionStatus() !== 'I') throw error
      return once(text, values, true)
    }
  }
  const query = async (text: string, parameters: readonly unknown[] = []) => {
    try {
      return await once(text, parameters.map(withoutNul))
    } catch (error) {
      const told = postgresError(error, place)
      if (endsConnection(error) || text.startsWith('begin')) isOver = true
      // A server that ends a query itself is well.
      if (endsConnection(error) && /timeout/i.test(told.message)) failed(told)
      throw tell(told)
    }
  }
  const ask = (text: unknown, parameters?: readonly unknown[]): unknown =>
    typeof text === 'string' ? query(text, parameters) : client.query(text as pg.Submittable)
  return {
    // Kysely asks with a text, or hands over a cursor.
    query: ask as PostgresPoolClient['query'],
    release: () => client.release(isOver),
    discard: () => (isOver = true),
  }
}

/** PostgreSQL has no texts with this character. */
function withoutNul(value: unknown): unknown {
  return typeof value === 'string' && value.includes('\0')
    ? value.replaceAll('\0', '\u{fffd}')
    : value
}

/** While the server cannot be reached, few wait to find that out. */
function createDoor() {
  let closed: { error: StoreError; until: number } | undefined
  return {
    /** Why nobody may enter now. */
    closedBy: () => {
      if (closed === undefined) return undefined
      if (performance.now() < closed.until) return closed.error
      closed.until = performance.now() + retryMs
      return undefined
    },
    open: () => (closed = undefined),
    close: (cause: StoreError) => {
      // Who meets the door has asked for nothing that takes long.
      const error = new StoreError(cause.message, undefined, { cause: cause.cause, ...cause.told })
      closed = { error, until: performance.now() + retryMs }
    },
  }
}
