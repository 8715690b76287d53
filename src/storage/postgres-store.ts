import { Kysely, sql } from 'kysely'
import { setTimeout as sleep } from 'node:timers/promises'
import { binaryTexts } from './binary-texts.ts'
import { migrate, updateRemedy } from './migrations.ts'
import { placeOf } from './postgres-address.ts'
import { cannotOpenDatabase, mayPass, type PostgresPlace } from './postgres-error.ts'
import { createPool, type PoolOptions } from './postgres-pool.ts'
import {
  againWhenCut,
  createPostgresCommit,
  createPostgresInsertions,
  locks,
  postgresDialect,
} from './postgres.ts'
import { createTurns, readingFailure, type Reader } from './reader.ts'
import { migrateStepwise } from './stepwise.ts'
import { StoreError, toStoreError } from './store-error.ts'
import type { Notice, Store } from './store.ts'
import type { Tables } from './tables.ts'

export type PostgresLimits = {
  databaseConnectionsMax: number
  databaseConnectTimeoutMs: number
  databaseQueryTimeoutMs: number
  databaseStartWaitMs: number
  reportTimeoutMs: number
  reportsWaitingMax: number
  reportsPerAccountMax: number
}

type Options = {
  url: string
  limits: PostgresLimits
  notice: Notice
}

const versionMin = 13
const startPauseMs = 500
const migrationWaitMs = 600_000
const readersMax = 2

/** Opens the store on a PostgreSQL: waits for it, and migrates it. Throws a StoreError. */
export async function openPostgresStore({ url, limits, notice }: Options): Promise<Store> {
  const place = placeOf(url)
  const connection = { url, connectTimeoutMs: limits.databaseConnectTimeoutMs }
  await prepare(connection, { place, limits, notice }, (empty) => migrate(empty, 'postgres'))
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
    insertions: createPostgresInsertions(),
    commit: createPostgresCommit(pool),
    describe: () => describe(db, place),
    look: async () => {
      if (await againWhenCut(() => readOnly(db))) throw notWritable()
    },
    close: async () => {
      await reader.close()
      await db.destroy()
    },
  }
}

const readTimeoutMs = 5000

/** Reads a database as it is, however long that takes; rows can be streamed by a cursor. */
export function readPostgres(url: string): Kysely<Tables> {
  const options = { url, connectTimeoutMs: readTimeoutMs, connectionsMax: 1, readOnly: true }
  return new Kysely<Tables>({ dialect: postgresDialect(createPool(options), { reads: true }) })
}

type Connection = Pick<PoolOptions, 'url' | 'connectTimeoutMs'>

/** Reads in connections of its own, which are never many: what is left is for calls. */
function openPostgresReader(connection: Connection, limits: PostgresLimits): Reader {
  const timeoutMs = limits.reportTimeoutMs
  const pool = createPool({
    ...connection,
    connectTimeoutMs: timeoutMs,
    connectionsMax: readersMax,
    queryTimeoutMs: timeoutMs,
    readOnly: true,
    failure: (error) => readingFailure(error, timeoutMs),
  })
  const db = new Kysely<Tables>({ dialect: postgresDialect(pool, { reads: true }) })
  const turns = { waitingMax: limits.reportsWaitingMax, perAccountMax: limits.reportsPerAccountMax }
  return { db, begin: createTurns(turns, pool.waiting), close: () => db.destroy() }
}

/** A server that was made a standby takes connections, and no rows. */
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
  const writing = (await readOnly(db)) ? 'may only be read' : 'takes rows'
  const server = `PostgreSQL ${version}, database ${database} on ${host}:${port}`
  return `${server}, for keys, people, the ledger, budgets and answers of idempotency keys; ${migrations} migrations, ${writing}`
}

function notWritable(): StoreError {
  return new StoreError('PostgreSQL may only be read', undefined, {
    remedy: 'Name the server that can be written to in DATABASE_URL.',
  })
}

type Starting = { place: PostgresPlace; limits: PostgresLimits; notice: Notice }

/**
 * Runs with a database that answers, behind the lock of migrations. Throws a StoreError that names the
 * place.
 */
async function prepare<T>(
  connection: Connection,
  starting: Starting,
  run: (db: Kysely<Tables>) => Promise<T>,
): Promise<T> {
  const pool = createPool({ ...connection, connectionsMax: 3 })
  const db = new Kysely<Tables>({
    dialect: postgresDialect(pool),
    plugins: [binaryTexts],
  })
  try {
    await untilThere(db, starting)
    return await alone(db, starting.notice, run)
  } catch (error) {
    const isTold =
      error instanceof StoreError &&
      (error.cause === undefined || error.message.endsWith(updateRemedy))
    throw isTold ? error : cannotOpenDatabase(error, starting.place)
  } finally {
    await db.destroy()
  }
}

/**
 * Migrates a database step by step; without `keeps` in a transaction that is rolled back. Resolves also
 * with the rows that its ledger had. Throws a StoreError.
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
    if (rows[0]?.ledger === null) return { runs, calls: 0 }
    const { rows: counts } = await sql<{ calls: number }>`
      select count(*) as calls from usage`.execute(db)
    return { runs, calls: counts[0]!.calls }
  })
}

/** A server may start later than the gateway, as in a file of containers. */
async function untilThere(
  db: Kysely<Tables>,
  { place: { host, port, database }, limits, notice }: Starting,
): Promise<void> {
  const until = performance.now() + limits.databaseStartWaitMs
  for (let tries = 1; ; tries++) {
    try {
      return await assertNewEnough(db)
    } catch (error) {
      const failure = toStoreError(error)
      if (failure.cause === undefined || !mayPass(failure.cause)) throw error
      if (performance.now() >= until) throw error
      if (tries === 1) {
        const seconds = Math.ceil(limits.databaseStartWaitMs / 1000)
        const { reason } = failure.told
        notice(
          `Waiting up to ${seconds} s for the database ${database} on ${host}:${port}: ${reason}.`,
        )
      }
      await sleep(startPauseMs)
    }
  }
}

async function assertNewEnough(db: Kysely<Tables>): Promise<void> {
  const { rows } = await sql<{ version: string }>`
    select current_setting('server_version_num') as version
  `.execute(db)
  const version = Math.floor(Number(rows[0]?.version) / 10_000)
  if (version >= versionMin) return
  const text = `DATABASE_URL names PostgreSQL ${version}. Use version ${versionMin} or a newer one.`
  throw new StoreError(text)
}

/** Behind an advisory lock of the session: of replicas that start at once, one migrates. */
async function alone<T>(
  db: Kysely<Tables>,
  notice: Notice,
  run: (db: Kysely<Tables>) => Promise<T>,
): Promise<T> {
  return db.connection().execute(async (session) => {
    const take = sql<{ taken: number }>`select pg_try_advisory_lock(${locks.migration}) as taken`
    if ((await take.execute(session)).rows[0]?.taken !== 1) {
      notice('Waiting for another process, which migrates the store.')
      await sql`select set_config('lock_timeout', ${String(migrationWaitMs)}, false)`.execute(
        session,
      )
      await sql`select pg_advisory_lock(${locks.migration})`.execute(session)
    }
    // Ends with the session, as the lock does.
    return run(db)
  })
}
