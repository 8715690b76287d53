import { Kysely, type DatabaseConnection, type Driver } from 'kysely'
import { GatewayError } from '../core/error.ts'
import { integersPlugin } from './integers.ts'
import { connectionOf, createLock, dialectOf, execute } from './sqlite-dialect.ts'
import type { FileOptions } from './sqlite-file.ts'
import { startThread, type StoreThread } from './sqlite-thread.ts'
import type { Tables } from './tables.ts'

/** Reads the store beside the connections that write to it (docs/storage.md#reports). */
export type Reader = {
  db: Kysely<Tables>
  /** Throws `overloaded` while too many wait for it: to be called before a new report begins. */
  assertFree(): void
  close(): Promise<void>
}

type Options = Omit<FileOptions, 'readOnly'> & {
  /** How long one query may take. */
  timeoutMs: number
  waitingMax: number
}

const idleMs = 60_000

/** A reader in a thread of its own, which its first query starts, and which ends when nobody asks. */
export function openReader({ timeoutMs, waitingMax, ...options }: Options): Reader {
  const lock = createLock(Infinity)
  let thread: StoreThread | undefined
  let idle: NodeJS.Timeout | undefined
  const stop = async () => {
    const stopped = thread
    thread = undefined
    await stopped?.stop()
  }
  const start = () => {
    const started = startThread({ ...options, readOnly: true })
    started.limitAnswers(timeoutMs)
    return started
  }
  const driver: Driver = {
    init: async () => undefined,
    acquireConnection: async () => {
      await lock.acquire()
      clearTimeout(idle)
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
    assertFree: () => {
      if (lock.waiting() >= waitingMax) throw busy()
    },
    close: () => db.destroy(),
  }
}

/** Tells a query that took too long from one that failed. */
function timed(connection: DatabaseConnection, timeoutMs: number): DatabaseConnection {
  return {
    ...connection,
    executeQuery: async (query, options) => {
      const startedAt = performance.now()
      try {
        return await connection.executeQuery(query, options)
      } catch (cause) {
        throw performance.now() - startedAt < timeoutMs ? cause : tooLong(timeoutMs, cause)
      }
    },
  }
}

function busy(): GatewayError {
  const text = 'Too many reports are being made. Try again in a moment.'
  return new GatewayError('overloaded', text, { retryAfterSeconds: 1 })
}

function tooLong(timeoutMs: number, cause: unknown): GatewayError {
  const text = `The report takes longer than ${timeoutMs} ms. Ask for a shorter range.`
  return new GatewayError('overloaded', text, { cause })
}
