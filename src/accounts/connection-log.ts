import { sql, type Kysely } from 'kysely'
import { hash } from 'node:crypto'
import type { ConnectionLog, HeardClient, RefusedAttempt } from '../core/connection-log.ts'
import { keptMessage } from '../core/connection-log.ts'
import type { KeyClientsTable, RefusedAttemptsTable } from '../storage/connection-tables.ts'
import { listed } from '../storage/sql-dialect.ts'
import type { Store } from '../storage/store.ts'
import type { Tables } from '../storage/tables.ts'

/** What connects and what fails to, written together once in a while. */
export type KeptConnectionLog = ConnectionLog & {
  /** Writes what waits here. */
  settle(): Promise<void>
  /** The same, for the last time. */
  close(): Promise<void>
}

type Options = {
  store: Pick<Store, 'db'>
  /** Unix time in milliseconds. */
  clock: () => number
  keyUseWriteMs: number
}

/** Of each kind, in this process; of further ones nothing is noted until these are written. */
const waitingMax = 1000
const rowsPerStatement = 50
const dayMs = 86_400_000
/** How many are kept, and for how long. */
const bounds = {
  clientsPerKey: 20,
  clientsMs: 400 * dayMs,
  attemptsPerAccount: 200,
  attemptsMs: 30 * dayMs,
  unknownAttempts: 500,
  unknownAttemptsMs: 7 * dayMs,
}

export function createConnectionLog({ store, clock, keyUseWriteMs }: Options): KeptConnectionLog {
  const { db } = store
  let clients = new Map<string, KeyClientsTable>()
  let attempts = new Map<string, RefusedAttemptsTable>()
  let writing: Promise<void> | undefined

  const write = async (): Promise<void> => {
    const [heard, refused] = [[...clients.values()], [...attempts.values()]]
    clients = new Map()
    attempts = new Map()
    await writeClients(db, heard)
    await nameAccounts(db, refused)
    await writeAttempts(db, refused)
    await forgetOld(db, clock(), {
      keyIds: heard.map(({ key_id: id }) => id),
      accountIds: refused.flatMap(({ account_id: id }) => (id === null ? [] : [id])),
    })
  }
  const settle = async (): Promise<void> => {
    await writing
    if (clients.size + attempts.size === 0) return
    // A store that does not answer loses what was noted, and nothing else.
    writing ??= write()
      .catch(() => undefined)
      .finally(() => (writing = undefined))
    await writing
  }
  const timer = setInterval(() => void settle(), keyUseWriteMs).unref()

  return {
    heard: ({ accountId, keyId }, client, { begins = false, tool }) => {
      const name = `${keyId} ${client.name}`
      const known = clients.get(name)
      if (known === undefined && clients.size >= waitingMax) return
      const row = known ?? clientRow(accountId, keyId, client)
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
      const name = likeness(attempt)
      const known = attempts.get(name)
      if (known === undefined && attempts.size >= waitingMax) return
      const now = clock()
      attempts.set(name, {
        ...attemptRow(attempt, name),
        times: (known?.times ?? 0) + 1,
        first_at: known?.first_at ?? now,
        last_at: now,
      })
    },
    settle,
    close: async () => {
      clearInterval(timer)
      await settle()
    },
  }
}

function clientRow(accountId: string, keyId: string, { name }: HeardClient): KeyClientsTable {
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

/** By what attempts are alike: not by the address, of which there are many. */
function likeness({
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
    message: keptMessage(attempt.message),
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

/** An authorization server knows the key that a token is for, and no account. */
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

/** Several processes lock the rows in one order. */
function* inPieces<Row extends { id: string }>(rows: Row[]): Generator<Row[]> {
  const sorted = rows.toSorted((one, other) => (one.id < other.id ? -1 : 1))
  for (let at = 0; at < sorted.length; at += rowsPerStatement) {
    yield sorted.slice(at, at + rowsPerStatement)
  }
}

type Touched = { keyIds: readonly string[]; accountIds: readonly string[] }

/** Removes what is too old, and the oldest of what is too many. */
async function forgetOld(db: Kysely<Tables>, now: number, touched: Touched): Promise<void> {
  await db
    .deleteFrom('key_clients')
    .where('last_seen_at', '<', now - bounds.clientsMs)
    .execute()
  await db
    .deleteFrom('refused_attempts')
    .where('last_at', '<', now - bounds.attemptsMs)
    .execute()
  await db
    .deleteFrom('refused_attempts')
    .where('account_id', 'is', null)
    .where('last_at', '<', now - bounds.unknownAttemptsMs)
    .execute()
  await sql`
    delete from key_clients where id in (
      select id from (
        select id, row_number() over (partition by key_id order by last_seen_at desc, id) as place
        from key_clients where key_id in ${listed(db, touched.keyIds)}
      ) as ranked where place > ${bounds.clientsPerKey})`.execute(db)
  await sql`
    delete from refused_attempts where id in (
      select id from (
        select id, row_number() over (partition by account_id order by last_at desc, id) as place
        from refused_attempts where account_id in ${listed(db, touched.accountIds)}
      ) as ranked where place > ${bounds.attemptsPerAccount})`.execute(db)
  await sql`
    delete from refused_attempts where id in (
      select id from (
        select id, row_number() over (order by last_at desc, id) as place
        from refused_attempts where account_id is null
      ) as ranked where place > ${bounds.unknownAttempts})`.execute(db)
}
