import { Kysely, type DatabaseConnection, type Driver } from 'kysely'
import { integersPlugin } from './integers.ts'
import { createTurns, readingFailure, type Reader, type TurnLimits } from './reader.ts'
import { connectionOf, createLock, dialectOf, execute } from './sqlite-dialect.ts'
import type { FileOptions } from './sqlite-file.ts'
import { startThread, type StoreThread } from './sqlite-thread.ts'
import type { Tables } from './tables.ts'

type Options = Omit<FileOptions, 'readOnly'> &
  TurnLimits & {
    /** How long one query may take. */
    timeoutMs: number
    /** Copies the store's log into its file; never throws. */
    restartLog(): Promise<void>
    /** How often those who read one after the other make room for that. */
    logRestartMs: number
  }

const idleMs = 60_000

/** A reader in a thread of its own, which its first query starts, and which ends when nobody asks. */
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
