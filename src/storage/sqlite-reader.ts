import { Kysely, type DatabaseConnection, type Driver } from 'kysely'
import { integersPlugin } from './integers.ts'
import { createTurns, readingFailure, type Reader, type TurnLimits } from './reader.ts'
import { connectionOf, createLock, dialectOf, execute } from './sqlite-dialect.ts'
import type { FileOptions } from './sqlite-file.ts'
import { startThread, type StoreThread } from './sqlite-thread.ts'
import type { Tables } from './tables.ts'

type Options = Omit<FileOptions, 'readOnly'> &
  TurnLimits & {
    /** Time limit of one query. */
    timeoutMs: number
    /** Copies the write-ahead log into the store's file; never throws. */
    restartLog(): Promise<void>
    /** Minimum interval between log restarts, which run between two readers. */
    logRestartMs: number
  }

const idleMs = 60_000

/** Reads in a worker thread, which the first query starts and which ends after an idle minute. */
export function openSqliteReader(options: Options): Reader {
  const { timeoutMs, waitingMax, perAccountMax, restartLog, logRestartMs, ...file } = options
  const lock = createLock(Infinity)
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
  const begin = createTurns({ waitingMax, perAccountMax }, lock.waiting)
  return { db, begin, close: () => db.destroy() }
}

function timed(connection: DatabaseConnection, timeoutMs: number): DatabaseConnection {
  return {
    ...connection,
    executeQuery: async (query, options) => {
      try {
        return await connection.executeQuery(query, options)
      } catch (cause) {
        throw readingFailure(cause, timeoutMs)
      }
    },
  }
}
