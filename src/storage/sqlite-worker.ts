/**
 * The embedded store's worker thread, which keeps flushes to disk and long queries off the event
 * loop. It answers messages in order.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { openSqliteFile, type FileOptions, type Statement } from './sqlite-file.ts'

export type WorkerRequest =
  | ({ id: number; kind: 'query' } & Statement)
  | { id: number; kind: 'commit'; statements: readonly Statement[]; waits: boolean }
  | { id: number; kind: 'close' }
export type QueryOutcome = { rows: unknown[]; changes: number }
export type WorkerReply =
  | { id: number; outcome: QueryOutcome }
  | { id: number; error: { message: string; errcode: number | undefined } }

// sqlite.ts starts this thread with its FileOptions.
const options = workerData as FileOptions
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
        return { rows: statement.all(...request.parameters), changes: 0 }
      }
      return { rows: [], changes: Number(statement.run(...request.parameters).changes) }
    }
    case 'commit':
      if (request.waits) commit(request.statements)
      else withoutWaiting(() => commit(request.statements))
      return { rows: [], changes: 0 }
    case 'close':
      database.close()
      return { rows: [], changes: 0 }
  }
}

function withoutWaiting(run: () => void): void {
  database.exec('PRAGMA busy_timeout = 0')
  try {
    run()
  } finally {
    database.exec(`PRAGMA busy_timeout = ${options.busyTimeoutMs}`)
  }
}
