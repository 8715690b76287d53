import type { PostgresPool, PostgresPoolClient } from 'kysely'
import pg from 'pg'
import { placeOf, verifying } from './postgres-address.ts'
import { endsConnection, isStalePlan, postgresError, type PostgresPlace } from './postgres-error.ts'
import { StoreError } from './store-error.ts'

export type PoolOptions = {
  url: string
  connectionsMax: number
  connectTimeoutMs: number
  /** Time limit of one query; undefined for none. */
  queryTimeoutMs?: number
  /** Refuses writes. */
  readOnly?: boolean
  /** Prepares each statement once per connection; otherwise it is planned for its values each time. */
  prepares?: boolean
  /** Converts the StoreError of a failed query to the error that is thrown. */
  failure?: (error: StoreError) => unknown
}

/** A pool whose queries have a time limit and fail with a StoreError. */
export type Pool = Omit<PostgresPool, 'connect'> & {
  connect(): Promise<PoolClient>
  waiting(): number
}
export type PoolClient = PostgresPoolClient & {
  /** Closes the connection at its release, since its transaction may be open. */
  discard(): void
}

/** The server cancels a query this long before the client gives up. */
const spareMs = 500
const statementsKept = 500
const endTimeoutMs = 2000
/** While the server is unreachable, one connection attempt per interval; other callers fail at once. */
const retryMs = 500

export function createPool(options: PoolOptions): Pool {
  const place = placeOf(options.url)
  const pool = new pg.Pool(poolConfig(options))
  // The pool replaces an idle connection that ended; its error needs no handling.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  const names = createNames(options.prepares === true)
  const clients = new WeakMap<pg.PoolClient, PoolClient>()
  const breaker = createBreaker()
  const convert = (failure: StoreError) => options.failure?.(failure) ?? failure
  return {
    options: {},
    connect: async () => {
      const recent = breaker.recentFailure()
      if (recent !== undefined) throw convert(recent)
      try {
        const client = await pool.connect()
        breaker.reset()
        const known = clients.get(client)
        if (known !== undefined) return known
        const wrapped = clientOf(client, { place, names, failed: breaker.trip, convert })
        clients.set(client, wrapped)
        return wrapped
      } catch (error) {
        const failure = postgresError(error, place)
        breaker.trip(failure)
        throw convert(failure)
      }
    },
    waiting: () => pool.waitingCount,
    end: async () => {
      const late = Promise.withResolvers<void>()
      // The wait has a limit, since a server that hangs does not close its connections.
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
    // To compile a report takes 30 to 60 ms, and the compiled code saves less.
    ...(readOnly ? { options: '-c default_transaction_read_only=on -c jit=off' } : {}),
  }
}

const types = { boolean: 16, int8: 20, numeric: 1700 }

/** Parses integers as numbers, and booleans as 1 and 0, as in the embedded store. */
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
  /** Gives the statement a new name, since PostgreSQL has an outdated plan for `stale`. */
  renew(text: string, stale: string): void
}

/** Names of the prepared statements, by their SQL. */
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
    // If several connections hit an outdated plan, the first one renews the name.
    renew: (text, stale) => void (names.get(text) === stale && renew(text)),
  }
}

type ClientOptions = {
  place: PostgresPlace
  names: Naming
  /** Called when the server does not answer in time. */
  failed(error: StoreError): void
  convert(error: StoreError): unknown
}

function clientOf(client: pg.PoolClient, options: ClientOptions): PoolClient {
  const { place, names, failed, convert } = options
  let isOver = false
  client.on('error', () => (isOver = true))
  const once = async (
    text: string,
    values: unknown[],
    isAgain = false,
  ): Promise<pg.QueryResult> => {
    // SQL without values may be several statements, which cannot be prepared.
    const name = values.length === 0 ? undefined : names.of(text)
    try {
      return await client.query(
        values.length === 0 ? { text } : { text, values, ...(name === undefined ? {} : { name }) },
      )
    } catch (error) {
      if (name === undefined || !isStalePlan(error)) throw error
      names.renew(text, name)
      // A failed statement aborts its transaction, so within a transaction it is not repeated.
      if (isAgain || client.getTransactionStatus() !== 'I') throw error
      return once(text, values, true)
    }
  }
  const query = async (text: string, parameters: readonly unknown[] = []) => {
    try {
      return await once(text, parameters.map(withoutNul))
    } catch (error) {
      const failure = postgresError(error, place)
      if (endsConnection(error) || text.startsWith('begin')) isOver = true
      // A server that cancels a query itself is reachable.
      if (endsConnection(error) && /timeout/i.test(failure.message)) failed(failure)
      throw convert(failure)
    }
  }
  return {
    // Kysely passes a cursor only to stream rows, which are read in pages.
    query: query as unknown as PostgresPoolClient['query'],
    release: () => client.release(isOver),
    discard: () => (isOver = true),
  }
}

/** PostgreSQL's text type cannot store NUL. */
function withoutNul(value: unknown): unknown {
  return typeof value === 'string' && value.includes('\0')
    ? value.replaceAll('\0', '\u{fffd}')
    : value
}

/** A circuit breaker: while the server is unreachable, one caller per interval waits for a connection. */
function createBreaker() {
  let tripped: { error: StoreError; until: number } | undefined
  return {
    /** The last failure, unless the pause before the next attempt is over. */
    recentFailure: () => {
      if (tripped === undefined) return undefined
      if (performance.now() < tripped.until) return tripped.error
      tripped.until = performance.now() + retryMs
      return undefined
    },
    reset: () => (tripped = undefined),
    trip: (cause: StoreError) => {
      // The error is created without `isLate`, since later callers sent no slow query.
      const error = new StoreError(cause.message, undefined, {
        cause: cause.cause,
        ...cause.diagnosis,
      })
      tripped = { error, until: performance.now() + retryMs }
    },
  }
}
