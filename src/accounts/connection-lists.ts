import type { Kysely, SelectQueryBuilder } from 'kysely'
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
type Reader = Pick<Caller, 'accountId' | 'keyId' | 'scopes' | 'person'>

type Options = { store: Pick<Store, 'db'>; log: Pick<ConnectionLogStore, 'settle'> }

export type ConnectionLists = ReturnType<typeof createConnectionLists>

export function createConnectionLists({ store: { db }, log }: Options) {
  const attempts = async (
    rows: SelectQueryBuilder<Tables, 'refused_attempts', RefusedAttemptsTable>,
    page: PageRequest,
  ) => {
    await log.settle()
    const found = await listPage(rows, page, { time: 'last_at', toItem: (row) => row })
    const keys = await keysOf(db, found.data)
    return { ...found, data: found.data.map((row) => attemptForm(row, keys)) }
  }
  const refused = () => db.selectFrom('refused_attempts').selectAll()
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
    attempts: (by: Reader, page: PageRequest) => {
      const all = refused().where('account_id', '=', by.accountId)
      const keyIds = keysWithin(db, by)
      return attempts(keyIds === undefined ? all : all.where('key_id', 'in', keyIds), page)
    },
    /** Refused attempts that belong to no known account. */
    unknown: (page: PageRequest) => attempts(refused().where('account_id', 'is', null), page),
  }
}

/** The keys that the caller may see; undefined for all keys of the account. */
function keysWithin(db: Kysely<Tables>, { accountId, keyId, scopes, person }: Reader) {
  if (scopes.includes('keys:write') || scopes.includes('admin')) return undefined
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

function attemptForm(row: RefusedAttemptsTable, keys: Keys): Schemas['RefusedAttempt'] {
  const { id, client_name: name, client_version: version, key_id, first_at, last_at } = row
  const { message, redirect_host, address, request_id, times } = row
  return {
    id,
    object: 'refused_attempt',
    // The connection log writes these columns from values of the contract's types.
    reason: row.reason as Schemas['AttemptReason'],
    face: row.face as Schemas['AttemptFace'],
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
