import { Kysely, sql } from 'kysely'
import { setTimeout as sleep } from 'node:timers/promises'
import { assertSchema, migrate, migrateStepwise, type SchemaChange } from './migrations.ts'
import { placeOf } from './postgres-address.ts'
import { cannotOpenDatabase, isTemporary, type PostgresPlace } from './postgres-error.ts'
import { createPool, type PoolOptions } from './postgres-pool.ts'
import {
  retryAfterDisconnect,
  createPostgresCommit,
  createPostgresInsertions,
  locks,
  postgresDialect,
} from './postgres.ts'
import { createTurns, readingFailure, reportsWaitingMax, type Reader } from './reader.ts'
import { StoreError, toStoreError } from './store-error.ts'
import type { Notice, Store } from './store.ts'
import type { Tables } from './tables.ts'

export type PostgresLimits = {
  databaseConnectionsMax: number
  databaseConnectTimeoutMs: number
  databaseQueryTimeoutMs: number
  databaseStartWaitMs: number
  reportTimeoutMs: number
  reportsPerAccountMax: number
}

type Options = {
  url: string
  limits: PostgresLimits
  notice: Notice
}

const versionMin = 13
const startPauseMs = 500
/** A notice is printed if the server is silent this long, well before the connection times out. */
const silenceMs = 1000
const migrationWaitMs = 600_000
const readersMax = 2

/** Opens the store on PostgreSQL: waits for the server, and migrates as `schemaChange` allows. Throws a StoreError. */
export async function openPostgresStore({
  url,
  limits,
  notice,
  schemaChange: change,
}: Options & { schemaChange: SchemaChange }): Promise<Store> {
  const place = placeOf(url)
  const connection = { url, connectTimeoutMs: limits.databaseConnectTimeoutMs }
  await prepare(connection, { place, limits, notice }, async (found) => {
    const { host, port, database } = place
    const where = `the database ${database} on ${host}:${port}`
    assertSchema(await migrationsIn(found), { change, place: where, notice })
    if (change !== 'none') await migrate(found, 'postgres')
  })
  const pool = createPool({
    ...connection,
    connectionsMax: limits.databaseConnectionsMax,
    queryTimeoutMs: limits.databaseQueryTimeoutMs,
    prepares: true,
  })
  const db = new Kysely<Tables>({ dialect: postgresDialect(pool, { excludes: true }) })
  const reader = openPostgresReader(connection, limits)
  return {
    dialect: 'postgres',
    db,
    reader,
    waiting: pool.waiting,
    starting: (run) => whileStarting({ place, limits, notice }, run),
    insertions: createPostgresInsertions(),
    commit: createPostgresCommit(pool),
    describe: () => describe(db, place),
    // PostgreSQL checks its own files.
    check: async () => undefined,
    look: async () => {
      if (await retryAfterDisconnect(() => readOnly(db)))
        throw new StoreError('PostgreSQL is read-only', undefined, {
          remedy: 'Set DATABASE_URL to the primary server.',
        })
    },
    close: async () => {
      await reader.close()
      await db.destroy()
    },
  }
}

const readTimeoutMs = 5000

/** Opens a database read-only, without a query timeout. */
export function readPostgres(url: string): Kysely<Tables> {
  const options = { url, connectTimeoutMs: readTimeoutMs, connectionsMax: 1, readOnly: true }
  return new Kysely<Tables>({ dialect: postgresDialect(createPool(options), { reads: true }) })
}

type Connection = Pick<PoolOptions, 'url' | 'connectTimeoutMs'>

/** Reports have a small pool of their own, so that they leave connections for calls. */
function openPostgresReader(connection: Connection, limits: PostgresLimits): Reader {
  const { reportTimeoutMs: timeoutMs, reportsPerAccountMax: perAccountMax } = limits
  const pool = createPool({
    ...connection,
    connectTimeoutMs: timeoutMs,
    connectionsMax: readersMax,
    queryTimeoutMs: timeoutMs,
    readOnly: true,
    failure: (error) => readingFailure(error, timeoutMs),
  })
  const db = new Kysely<Tables>({ dialect: postgresDialect(pool, { reads: true }) })
  const turns = { waitingMax: reportsWaitingMax, perAccountMax }
  return { db, begin: createTurns(turns, pool.waiting), close: () => db.destroy() }
}

/** Whether the server refuses writes, as a standby does. */
async function readOnly(db: Kysely<Tables>): Promise<boolean> {
  const { rows } = await sql<{ read_only: string }>`
    select current_setting('transaction_read_only') as read_only
  `.execute(db)
  return rows[0]?.read_only === 'on'
}

async function describe(
  db: Kysely<Tables>,
  { host, port, database }: PostgresPlace,
): Promise<string> {
  const { rows } = await sql<{ version: string; migrations: number }>`
    select current_setting('server_version') as version,
      (select count(*) from kysely_migration) as migrations
  `.execute(db)
  const [{ version, migrations }] = rows as [(typeof rows)[number]]
  const writing = (await readOnly(db)) ? 'read-only' : 'writable'
  const server = `PostgreSQL ${version}, database ${database} on ${host}:${port}`
  return `${server}, for keys, people, the ledger, budgets and answers of idempotency keys; ${migrations} migrations, ${writing}`
}

type Starting = { place: PostgresPlace; limits: PostgresLimits; notice: Notice }

/**
 * Waits for the database, and runs `run` while holding the migration lock. Throws a StoreError that
 * names the database.
 */
async function prepare<T>(
  connection: Connection,
  starting: Starting,
  run: (db: Kysely<Tables>) => Promise<T>,
): Promise<T> {
  const pool = createPool({ ...connection, connectionsMax: 3 })
  const db = new Kysely<Tables>({ dialect: postgresDialect(pool) })
  try {
    return await whileStarting(starting, async (answered) => {
      await assertNewEnough(db)
      answered()
      return alone(db, starting.notice, run)
    })
  } finally {
    await db.destroy()
  }
}

/**
 * Migrates a database step by step; without `keeps` the transaction is rolled back. Resolves with the
 * migrations that ran and the number of ledger rows. Throws a StoreError.
 */
export async function migrateDatabase({
  url,
  limits,
  notice,
  keeps,
}: Options & { keeps: boolean }) {
  const connection = { url, connectTimeoutMs: limits.databaseConnectTimeoutMs }
  const place = placeOf(url)
  return prepare(connection, { place, limits, notice }, async (db) => {
    const runs = await migrateStepwise({ db, dialect: 'postgres', keeps })
    const { rows } = await sql<{ ledger: string | null }>`
      select to_regclass('usage') as ledger`.execute(db)
    if (runs.length === 0 || rows[0]?.ledger === null) return { runs, calls: 0 }
    const { rows: counts } = await sql<{ calls: number }>`
      select count(*) as calls from usage`.execute(db)
    return { runs, calls: counts[0]!.calls }
  })
}

async function migrationsIn(db: Kysely<Tables>): Promise<string[]> {
  const { rows: found } = await sql<{ is: number }>`
    select to_regclass('kysely_migration') is not null as is`.execute(db)
  if (found[0]?.is !== 1) return []
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db)
  return rows.map(({ name }) => name)
}

/**
 * Runs a step of the start, and repeats it while the server is starting or recovering: with Docker
 * Compose it may start after the gateway. Throws a StoreError that names the database.
 */
async function whileStarting<T>(
  { place, limits: { databaseStartWaitMs: waitMs }, notice }: Starting,
  run: (answered: () => void) => Promise<T>,
): Promise<T> {
  const { host, port, database } = place
  const until = performance.now() + waitMs
  let isReported = waitMs === 0
  const report = (reason: string): void => {
    if (isReported) return
    isReported = true
    const seconds = Math.ceil(waitMs / 1000)
    notice(`Waiting up to ${seconds} s for the database ${database} on ${host}:${port}: ${reason}.`)
  }
  const timer = setTimeout(report, silenceMs, 'it has not answered yet')
  const answered = () => clearTimeout(timer)
  try {
    for (;;) {
      try {
        return await run(answered)
      } catch (error) {
        const { cause, diagnosis } = toStoreError(error)
        if (cause === undefined) throw error
        if (!isTemporary(cause) || performance.now() >= until)
          throw cannotOpenDatabase(error, place)
        report(diagnosis.reason)
        await sleep(startPauseMs)
      }
    }
  } finally {
    clearTimeout(timer)
  }
}

async function assertNewEnough(db: Kysely<Tables>): Promise<void> {
  const { rows } = await sql<{ version: string }>`
    select current_setting('server_version_num') as version
  `.execute(db)
  const version = Math.floor(Number(rows[0]?.version) / 10_000)
  if (version >= versionMin) return
  const text = `DATABASE_URL names PostgreSQL ${version}. Use version ${versionMin} or newer.`
  throw new StoreError(text)
}

/** Holds a session-level advisory lock: of several replicas that start at once, one migrates. */
async function alone<T>(
  db: Kysely<Tables>,
  notice: Notice,
  run: (db: Kysely<Tables>) => Promise<T>,
): Promise<T> {
  return db.connection().execute(async (session) => {
    const take = sql<{ taken: number }>`select pg_try_advisory_lock(${locks.migration}) as taken`
    if ((await take.execute(session)).rows[0]?.taken !== 1) {
      notice('Waiting for another process that migrates the store.')
      await sql`select set_config('lock_timeout', ${String(migrationWaitMs)}, false)`.execute(
        session,
      )
      await sql`select pg_advisory_lock(${locks.migration})`.execute(session)
    }
    // The setting and the lock end with the session.
    return run(db)
  })
}
