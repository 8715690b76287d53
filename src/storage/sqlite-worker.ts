/**
 * The embedded store's thread: neither a flush to disk nor a long query may hold up a request. It
 * answers each message in order.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

export type WorkerOptions = { path: string; durability: 'normal' | 'full'; busyTimeoutMs: number }
export type SqlValue = string | number | bigint | null | Uint8Array
export type WorkerRequest =
  | { id: number; kind: 'query'; sql: string; parameters: readonly SqlValue[] }
  | { id: number; kind: 'insertMany'; sql: string; rows: readonly (readonly SqlValue[])[] }
  | { id: number; kind: 'close' }
export type QueryOutcome = { rows: unknown[]; changes: number }
export type WorkerReply =
  | { id: number; outcome: QueryOutcome }
  | { id: number; error: { message: string; errcode: number | undefined } }

const statementsKept = 500

const { path, durability, busyTimeoutMs } = workerData as WorkerOptions
const database = new DatabaseSync(path, {
  timeout: busyTimeoutMs,
  enableForeignKeyConstraints: true,
})
database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${durability.toUpperCase()}`)
const statements = new Map<string, StatementSync>()

parentPort!.on('message', (request: WorkerRequest) => {
  parentPort!.postMessage(reply(request))
})

function reply(request: WorkerRequest): WorkerReply {
  const { id } = request
  try {
    return { id, outcome: run(request) }
  } catch (error) {
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
    case 'insertMany':
      return insertMany(prepare(request.sql), request.rows)
    case 'close':
      database.close()
      return { rows: [], changes: 0 }
  }
}

/** One commit for all rows: it is the commit that costs. */
function insertMany(
  statement: StatementSync,
  rows: readonly (readonly SqlValue[])[],
): QueryOutcome {
  database.exec('BEGIN IMMEDIATE')
  try {
    for (const row of rows) statement.run(...row)
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
  return { rows: [], changes: rows.length }
}

function prepare(sql: string): StatementSync {
  const kept = statements.get(sql)
  if (kept !== undefined) return kept
  const statement = database.prepare(sql)
  if (statements.size < statementsKept) statements.set(sql, statement)
  return statement
}
