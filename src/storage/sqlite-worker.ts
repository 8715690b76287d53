/**
 * The embedded store's worker thread, which keeps flushes to disk and long queries off the event
 * loop. It answers messages in order.
 */
import { constants, platform, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { openSqliteFile, type FileOptions, type Statement } from './sqlite-file.ts'

export type WorkerRequest =
  | ({ id: number; kind: 'query' } & Statement)
  | { id: number; kind: 'commit'; statements: readonly Statement[]; waits: boolean }
  | { id: number; kind: 'checkpoint' }
  | { id: number; kind: 'close' }
/** The rows of a query, and how many rows each statement changed. */
export type QueryOutcome = { rows: unknown[]; changes: readonly number[] }
export type WorkerReply =
  | { id: number; outcome: QueryOutcome }
  | { id: number; error: { message: string; errcode: number | undefined } }

// sqlite.ts starts this thread with its FileOptions.
const options = workerData as FileOptions
if (options.readOnly === true) yieldToOthers()
const { database, prepare, commit } = openSqliteFile(options)

parentPort!.on('message', (request: WorkerRequest) => {
  parentPort!.postMessage(reply(request))
})

function reply(request: WorkerRequest): WorkerReply {
  const { id } = request
  try {
    return { id, outcome: run(request) }
  } catch (error) {
    // Errors of node:sqlite have both members; other errors may have neither.
    const { message = String(error), errcode } = error as { message?: string; errcode?: number }
    return { id, error: { message, errcode } }
  }
}

function run(request: WorkerRequest): QueryOutcome {
  switch (request.kind) {
    case 'query': {
      const statement = prepare(request.sql)
      if (statement.columns().length > 0) {
        return { rows: statement.all(...request.parameters), changes: [] }
      }
      return { rows: [], changes: [Number(statement.run(...request.parameters).changes)] }
    }
    case 'commit':
      return { rows: [], changes: inOne(request) }
    case 'checkpoint':
      // Does not wait for readers, since commits wait for this checkpoint. The next checkpoint copies the
      // rest.
      withoutWaiting(() => prepare('PRAGMA wal_checkpoint(RESTART)').all())
      return { rows: [], changes: [] }
    case 'close':
      database.close()
      return { rows: [], changes: [] }
  }
}

function inOne({ statements, waits }: Extract<WorkerRequest, { kind: 'commit' }>): number[] {
  return waits ? commit(statements) : withoutWaiting(() => commit(statements))
}

/** Reports run at lower CPU priority than calls. Only Linux has priorities for single threads. */
function yieldToOthers(): void {
  if (platform() === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
}

function withoutWaiting<T>(run: () => T): T {
  database.exec('PRAGMA busy_timeout = 0')
  try {
    return run()
  } finally {
    database.exec(`PRAGMA busy_timeout = ${options.busyTimeoutMs}`)
  }
}
