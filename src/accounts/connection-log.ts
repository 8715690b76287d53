import { sql, type Kysely, type RawBuilder } from 'kysely'
import { hash } from 'node:crypto'
import type { ConnectionLog, ReportedClient, RefusedAttempt } from '../core/connection-log.ts'
import { loggedMessage } from '../core/connection-log.ts'
import type { KeyClientsTable, RefusedAttemptsTable, Tables } from '../storage/tables.ts'
import { listed } from '../storage/sql-dialect.ts'
import type { Store } from '../storage/store.ts'
import { sweepAgain } from './sweep.ts'

/** Connected clients and refused attempts, kept in memory and written in batches. */
export type ConnectionLogStore = ConnectionLog & {
  settle(): Promise<void>
  /** Writes all pending rows and stops the timer. */
  close(): Promise<void>
}

/** Maximum of listed clients of one key, each with its own name. */
const clientsPerKeyMax = 20
/** How long an unused client stays listed: longer than a year, for clients that are used once a year. */
const clientTtlMs = 400 * 86_400_000
/** Above this number, the oldest attempts of the same account are removed. */
const attemptsPerAccountMax = 200
/** How long an attempt stays listed: one month, like the daily usage pages. */
const attemptTtlMs = 30 * 86_400_000
/** Maximum of attempts without an account: lower, since any client can cause such attempts. */
const unknownAttemptsMax = 500
const unknownAttemptTtlMs = 7 * 86_400_000

/** The parts of what is written in batches. */
export type BatchOptions = {
  store: Pick<Store, 'db'>
  clock: () => number
  limits: { keyUseWriteMs: number; connectionLogWaitingMax: number }
  /** Called after each write; `error` is the reason if the write failed and its rows are lost. */
  onWritten: (error?: unknown) => void
}

const rowsPerStatement = 50

export function createConnectionLog(options: BatchOptions): ConnectionLogStore {
  const { store, clock, limits, onWritten } = options
  const { db } = store
  const { connectionLogWaitingMax: waitingMax } = limits
  let clients = new Map<string, KeyClientsTable>()
  let attempts = new Map<string, RefusedAttemptsTable>()
  const isWaiting = () => clients.size + attempts.size > 0

  const write = async (): Promise<boolean> => {
    if (!isWaiting()) return false
    const [heard, refused] = [[...clients.values()], [...attempts.values()]]
    clients = new Map()
    attempts = new Map()
    await writeClients(db, heard)
    await nameAccounts(db, refused)
    await writeAttempts(db, refused)
    await removeExpired(db, clock())
    await removeExcess(db, {
      keyIds: heard.map(({ key_id: id }) => id),
      accountIds: refused.flatMap(({ account_id: id }) => (id === null ? [] : [id])),
    })
    return true
  }
  const writing = sweepAgain(write, {
    intervalMs: limits.keyUseWriteMs,
    onSwept: onWritten,
  })
  const settle = async (): Promise<void> => {
    await writing.look()
    // Writes the rows that were added during the first write.
    if (isWaiting()) await writing.look()
  }

  return {
    heard: ({ accountId, keyId }, client, { begins = false, tool }) => {
      const name = `${keyId} ${client.name}`
      const pending = clients.get(name)
      if (pending === undefined && clients.size >= waitingMax) return
      const row = pending ?? clientRow(accountId, keyId, client)
      const now = clock()
      row.version = client.version
      row.last_seen_at = now
      if (begins) row.connected_at = now
      if (tool !== undefined) {
        row.last_tool = tool
        row.last_tool_at = now
      }
      clients.set(name, row)
    },
    refused: (attempt) => {
      const name = groupName(attempt)
      const pending = attempts.get(name)
      if (pending === undefined && attempts.size >= waitingMax) return
      const now = clock()
      attempts.set(name, {
        ...attemptRow(attempt, name),
        times: (pending?.times ?? 0) + 1,
        first_at: pending?.first_at ?? now,
        last_at: now,
      })
    },
    settle,
    close: async () => {
      await settle()
      writing.close()
    },
  }
}

function clientRow(accountId: string, keyId: string, { name }: ReportedClient): KeyClientsTable {
  return {
    id: idOf('cli', [keyId, name]),
    account_id: accountId,
    key_id: keyId,
    name,
    version: null,
    connected_at: null,
    last_seen_at: 0,
    last_tool: null,
    last_tool_at: null,
  }
}

/** Attempts with the same name share a row. The name has no address: one client may use many addresses. */
function groupName({
  accountId,
  keyId,
  reason,
  face,
  header,
  client,
  redirectHost,
}: RefusedAttempt) {
  return JSON.stringify([accountId, keyId, reason, face, header, client?.name, redirectHost])
}

function attemptRow(
  attempt: RefusedAttempt,
  name: string,
): Omit<RefusedAttemptsTable, 'times' | 'first_at' | 'last_at'> {
  const { accountId, keyId, reason, face, header, client, redirectHost, address } = attempt
  return {
    id: idOf('att', [name]),
    account_id: accountId ?? null,
    key_id: keyId ?? null,
    reason,
    face,
    header: header ?? null,
    client_name: client?.name ?? null,
    client_version: client?.version ?? null,
    redirect_host: redirectHost ?? null,
    address: address ?? null,
    message: loggedMessage(attempt.message),
    request_id: attempt.requestId ?? null,
  }
}

function idOf(prefix: string, parts: readonly string[]): string {
  return `${prefix}_${hash('sha256', JSON.stringify(parts), 'hex').slice(0, 32)}`
}

async function writeClients(db: Kysely<Tables>, rows: KeyClientsTable[]): Promise<void> {
  for (const some of inPieces(rows)) {
    await db
      .insertInto('key_clients')
      .values(some)
      .onConflict((one) =>
        one.column('id').doUpdateSet(({ ref, fn }) => ({
          version: ref('excluded.version'),
          last_seen_at: ref('excluded.last_seen_at'),
          connected_at: fn.coalesce('excluded.connected_at', 'key_clients.connected_at'),
          last_tool: fn.coalesce('excluded.last_tool', 'key_clients.last_tool'),
          last_tool_at: fn.coalesce('excluded.last_tool_at', 'key_clients.last_tool_at'),
        })),
      )
      .execute()
  }
}

/** Adds the account of the key; the authorization server reports only the key of a token. */
async function nameAccounts(db: Kysely<Tables>, rows: RefusedAttemptsTable[]): Promise<void> {
  const nameless = rows.filter((row) => row.account_id === null && row.key_id !== null)
  if (nameless.length === 0) return
  const ids = nameless.flatMap(({ key_id: id }) => id ?? [])
  const keys = await db
    .selectFrom('api_keys')
    .select(['id', 'account_id'])
    .where('id', 'in', listed(db, ids))
    .execute()
  const accounts = new Map(keys.map(({ id, account_id }) => [id, account_id]))
  for (const row of nameless) row.account_id = accounts.get(row.key_id!) ?? null
}

async function writeAttempts(db: Kysely<Tables>, rows: RefusedAttemptsTable[]): Promise<void> {
  for (const some of inPieces(rows)) {
    await db
      .insertInto('refused_attempts')
      .values(some)
      .onConflict((one) =>
        one.column('id').doUpdateSet(({ ref }) => ({
          client_version: ref('excluded.client_version'),
          address: ref('excluded.address'),
          message: ref('excluded.message'),
          request_id: ref('excluded.request_id'),
          times: sql<number>`refused_attempts.times + excluded.times`,
          last_at: ref('excluded.last_at'),
        })),
      )
      .execute()
  }
}

/** Sorts the rows by id, so that several processes lock them in the same order. */
function* inPieces<Row extends { id: string }>(rows: Row[]): Generator<Row[]> {
  const sorted = rows.toSorted((one, other) => (one.id < other.id ? -1 : 1))
  for (let at = 0; at < sorted.length; at += rowsPerStatement) {
    yield sorted.slice(at, at + rowsPerStatement)
  }
}

async function removeExpired(db: Kysely<Tables>, now: number): Promise<void> {
  await db
    .deleteFrom('key_clients')
    .where('last_seen_at', '<', now - clientTtlMs)
    .execute()
  const attempts = db.deleteFrom('refused_attempts')
  await attempts.where('last_at', '<', now - attemptTtlMs).execute()
  await attempts
    .where('account_id', 'is', null)
    .where('last_at', '<', now - unknownAttemptTtlMs)
    .execute()
}

type Touched = { keyIds: readonly string[]; accountIds: readonly string[] }

/** Removes the oldest rows above the maximum of a key or an account. */
async function removeExcess(db: Kysely<Tables>, { keyIds, accountIds }: Touched): Promise<void> {
  const clients = { table: 'key_clients', time: 'last_seen_at', owner: 'key_id' } as const
  const attempts = { table: 'refused_attempts', time: 'last_at', owner: 'account_id' } as const
  const ofKeys = sql`key_id in ${listed(db, keyIds)}`
  const ofAccounts = sql`account_id in ${listed(db, accountIds)}`
  const withoutAccount = sql`account_id is null`
  await keepLatest(db, clients, ofKeys, clientsPerKeyMax)
  await keepLatest(db, attempts, ofAccounts, attemptsPerAccountMax)
  await keepLatest(db, attempts, withoutAccount, unknownAttemptsMax)
}

/** Keeps the latest `max` rows of each owner among the selected rows, and deletes the others. */
async function keepLatest(
  db: Kysely<Tables>,
  { table, time, owner }: { table: string; time: string; owner: string },
  among: RawBuilder<unknown>,
  max: number,
): Promise<void> {
  await sql`
    delete from ${sql.table(table)} where id in (
      select id from (
        select id, row_number() over (
          partition by ${sql.ref(owner)} order by ${sql.ref(time)} desc, id
        ) as place
        from ${sql.table(table)} where ${among}
      ) as ranked where place > ${max})`.execute(db)
}
