import { sql, type Kysely, type SelectQueryBuilder } from 'kysely'
import type { components } from '../../generated/types.ts'
import type { Caller } from '../core/caller.ts'
import type { PageRequest } from '../core/page.ts'
import type { KeyClientsTable, RefusedAttemptsTable, Tables } from '../storage/tables.ts'
import { listed } from '../storage/sql-dialect.ts'
import type { Store } from '../storage/store.ts'
import type { ConnectionLogStore } from './connection-log.ts'
import { timeText } from './key-form.ts'
import { listPage } from './list-page.ts'

type Schemas = components['schemas']
type UsedKey = Schemas['UsedKey']
type AttemptKind = Schemas['AttemptKind']
type AttemptReason = Schemas['AttemptReason']
type AttemptFace = Schemas['AttemptFace']
type AttemptRow = RefusedAttemptsTable & { kind: AttemptKind }
type AttemptFilter = PageRequest & { kind?: AttemptKind | undefined }
type Reader = Pick<Caller, 'accountId' | 'keyId' | 'scopes' | 'person'>

type Options = { store: Pick<Store, 'db'>; log: Pick<ConnectionLogStore, 'settle'> }

export type ConnectionLists = ReturnType<typeof createConnectionLists>

export function createConnectionLists({ store: { db }, log }: Options) {
  const attempts = async (
    rows: SelectQueryBuilder<Tables, 'refused_attempts', AttemptRow>,
    { kind, ...page }: AttemptFilter,
  ) => {
    await log.settle()
    const ofKind = kind === undefined ? rows : rows.where(attemptKind, '=', kind)
    const found = await listPage(ofKind, page, { time: 'last_at', toItem: (row) => row })
    const keys = await keysOf(db, found.data)
    return { ...found, data: found.data.map((row) => attemptForm(row, keys)) }
  }
  const refused = () => db.selectFrom('refused_attempts').selectAll().select(attemptKind.as('kind'))
  return {
    clients: async (by: Reader, page: PageRequest) => {
      await log.settle()
      const all = db.selectFrom('key_clients').selectAll().where('account_id', '=', by.accountId)
      const keyIds = keysWithin(db, by)
      const rows = keyIds === undefined ? all : all.where('key_id', 'in', keyIds)
      const found = await listPage(rows, page, { time: 'last_seen_at', toItem: (row) => row })
      const keys = await keysOf(db, found.data)
      return { ...found, data: found.data.map((row) => clientForm(row, keys)) }
    },
    attempts: (by: Reader, page: AttemptFilter) => {
      const all = refused().where('account_id', '=', by.accountId)
      const keyIds = keysWithin(db, by)
      return attempts(keyIds === undefined ? all : all.where('key_id', 'in', keyIds), page)
    },
    /** Refused attempts that belong to no known account. */
    unknown: (page: AttemptFilter) => attempts(refused().where('account_id', 'is', null), page),
  }
}

const reasonsOfCalls: AttemptReason[] = ['model_not_allowed', 'budget_spent']
const facesOfCalls: AttemptFace[] = ['v1', 'api']

/** A key without the scope of the tool server cannot connect to it; other operations may lack one too. */
const attemptKind = sql<AttemptKind>`case
  when reason in (${sql.join(reasonsOfCalls)}) then 'call'
  when reason = 'scope_missing' and face in (${sql.join(facesOfCalls)}) then 'call'
  else 'connect' end`

/** The keys that the caller may see; undefined for all keys of the account. */
function keysWithin(db: Kysely<Tables>, { accountId, keyId, scopes, person }: Reader) {
  // A member with this scope manages only keys of their own.
  const managesAll = person === undefined && scopes.includes('keys:write')
  if (managesAll || scopes.includes('admin')) return undefined
  const keys = db.selectFrom('api_keys').select('id').where('account_id', '=', accountId)
  return person === undefined
    ? keys.where('id', '=', keyId)
    : keys.where('created_by', '=', person.id)
}

type Keys = ReadonlyMap<string | null, UsedKey>

async function keysOf(
  db: Kysely<Tables>,
  rows: readonly { key_id: string | null }[],
): Promise<Keys> {
  const ids = rows.flatMap(({ key_id: id }) => (id === null ? [] : [id]))
  if (ids.length === 0) return new Map()
  const keys = await db
    .selectFrom('api_keys')
    .select(['id', 'name', 'kind'])
    .where('id', 'in', listed(db, ids))
    .execute()
  return new Map(keys.map((key) => [key.id, key]))
}

function clientForm(row: KeyClientsTable, keys: Keys): Schemas['ToolClient'] {
  const { id, name, version, key_id, connected_at, last_seen_at, last_tool, last_tool_at } = row
  return {
    id,
    object: 'tool_client',
    name,
    version,
    // Rows of keys are never removed, so each id has a row.
    key: keys.get(key_id)!,
    connected_at: connected_at === null ? null : timeText(connected_at),
    last_seen_at: timeText(last_seen_at),
    last_tool,
    last_tool_at: last_tool_at === null ? null : timeText(last_tool_at),
  }
}

function attemptForm(row: AttemptRow, keys: Keys): Schemas['RefusedAttempt'] {
  const { id, client_name: name, client_version: version, key_id, first_at, last_at } = row
  const { message, redirect_host, address, request_id, times } = row
  return {
    id,
    object: 'refused_attempt',
    kind: row.kind,
    // The connection log writes these columns from values of the contract's types.
    reason: row.reason as AttemptReason,
    face: row.face as AttemptFace,
    header: row.header as Schemas['AttemptHeader'] | null,
    message,
    client: name === null ? null : { name, version },
    key: keys.get(key_id) ?? null,
    redirect_host,
    address,
    request_id,
    times,
    first_at: timeText(first_at),
    last_at: timeText(last_at),
  }
}
