import { Kysely, type DatabaseConnection, type Driver } from 'kysely'
import { GatewayError } from '../core/error.ts'
import { integersPlugin } from './integers.ts'
import { connectionOf, createLock, dialectOf, execute } from './sqlite-dialect.ts'
import type { FileOptions } from './sqlite-file.ts'
import { startThread, type StoreThread } from './sqlite-thread.ts'
import { StoreError } from './store-error.ts'
import type { Tables } from './tables.ts'

/** Reads the store beside the connections that write to it (docs/storage.md#reports). */
export type Reader = {
  db: Kysely<Tables>
  /**
   * Begins a report of an account, which lasts until the function that it gives is called. Throws
   * `overloaded` while too many wait, or the account has its share of them.
   */
  begin(accountId: string): () => void
  close(): Promise<void>
}

type Options = Omit<FileOptions, 'readOnly'> & {
  /** How long one query may take. */
  timeoutMs: number
  waitingMax: number
  /** Reports of one account that are under way. */
  perAccountMax: number
  /** Copies the store's log into its file; never throws. */
  restartLog(): Promise<void>
  /** How often those who read one after the other make room for that. */
  logRestartMs: number
}

const idleMs = 60_000

/** A reader in a thread of its own, which its first query starts, and which ends when nobody asks. */
export function openReader(options: Options): Reader {
  const { timeoutMs, waitingMax, perAccountMax, restartLog, logRestartMs, ...file } = options
  const lock = createLock(Infinity)
  const underWay = new Map<string, number>()
  let thread: StoreThread | undefined
  let idle: NodeJS.Timeout | undefined
  const stop = async () => {
    const stopped = thread
    thread = undefined
    await stopped?.stop()
  }
  const start = () => {
    const started = startThread({ ...file, readOnly: true })
    started.limitAnswers(timeoutMs)
    return started
  }
  let restartedAt = performance.now()
  const restartLogAtTimes = async () => {
    if (performance.now() - restartedAt < logRestartMs) return
    await restartLog()
    restartedAt = performance.now()
  }
  const driver: Driver = {
    init: async () => undefined,
    acquireConnection: async () => {
      await lock.acquire()
      clearTimeout(idle)
      await restartLogAtTimes()
      thread ??= start()
      return timed(connectionOf(thread, thread.current()), timeoutMs)
    },
    beginTransaction: execute('begin'),
    commitTransaction: execute('commit'),
    rollbackTransaction: execute('rollback'),
    releaseConnection: async () => {
      lock.release()
      clearTimeout(idle)
      idle = setTimeout(() => void stop(), idleMs).unref()
    },
    destroy: async () => {
      clearTimeout(idle)
      await stop()
    },
  }
  const db = new Kysely<Tables>({ dialect: dialectOf(driver), plugins: [integersPlugin] })
  return {
    db,
    begin: (accountId) => {
      const own = underWay.get(accountId) ?? 0
      if (own >= perAccountMax) throw ownBusy(own)
      if (lock.waiting() >= waitingMax) throw busy()
      underWay.set(accountId, own + 1)
      return () => {
        const left = underWay.get(accountId)! - 1
        if (left === 0) underWay.delete(accountId)
        else underWay.set(accountId, left)
      }
    },
    close: () => db.destroy(),
  }
}

/** Tells a query that took too long, and a reader that is not there, from a query that failed. */
function timed(connection: DatabaseConnection, timeoutMs: number): DatabaseConnection {
  return {
    ...connection,
    executeQuery: async (query, options) => {
      const startedAt = performance.now()
      try {
        return await connection.executeQuery(query, options)
      } catch (cause) {
        if (performance.now() - startedAt >= timeoutMs) throw tooLong(timeoutMs, cause)
        if (!(cause instanceof StoreError) || cause.concernsStatement) throw cause
        throw absent(cause)
      }
    },
  }
}

function busy(): GatewayError {
  const text = 'Too many reports are being made. Try again in a moment.'
  return new GatewayError('overloaded', text, { retryAfterSeconds: 1 })
}

function ownBusy(count: number): GatewayError {
  const text = `${count} reports and exports of this account are under way already. Wait until one of them has ended.`
  return new GatewayError('overloaded', text, { retryAfterSeconds: 1 })
}

/** As behind one that took too long, until its thread has ended. */
function absent(cause: StoreError): GatewayError {
  const text = 'Reports cannot be made at the moment. Try again.'
  return new GatewayError('overloaded', text, { retryAfterSeconds: 2, cause })
}

function tooLong(timeoutMs: number, cause: unknown): GatewayError {
  const text = `The report takes longer than ${timeoutMs} ms. Ask for a shorter range.`
  return new GatewayError('overloaded', text, { cause })
}
