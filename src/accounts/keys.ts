import type { Kysely, Transaction } from 'kysely'
import type { components } from '../../generated/types.ts'
import { GatewayError } from '../core/error.ts'
import type { PageRequest } from '../core/page.ts'
import type { ApiKeysTable, Tables } from '../storage/tables.ts'
import { countedAs } from './allowance.ts'
import { createKey, digestOf, hintOf } from './api-key.ts'
import { changedValues, type ChangeParts } from './audit.ts'
import { readKeyStates } from './budget-states.ts'
import { newId } from './id.ts'
import {
  assertMayChangeKey,
  assertGrantable,
  boundsOf,
  inherited,
  creatorOf,
  type KeyIssuer,
} from './key-bounds.ts'
import { keyForm, keySettings, timeText } from './key-form.ts'
import { selectKeys, type KeyFilter } from './key-list.ts'
import { listPage } from './list-page.ts'
import {
  assertChangeable,
  assertForKind,
  assertRotatable,
  keyColumns,
  plainKey,
  type ModelIds,
} from './key-settings.ts'
import { registerClientOf } from './oauth/registered-clients.ts'
import { endWithKey, followKey, type Ending } from './oauth/connection-changes.ts'

type Schemas = components['schemas']
type ApiKey = Schemas['ApiKey']
type CreatedKey = Schemas['CreatedApiKey']
/** A new key; omitted members have the contract's defaults. */
export type NewKey = Schemas['NewApiKey']

/** Selects a key, optionally of one account only, or only one or a connection that a person made. */
type Which = {
  id: string
  accountId?: string
  connectionOf?: string
  createdBy?: string | undefined
}

type Options = ChangeParts & {
  modelIds: ModelIds
  /** The last use of a key, if it is not stored yet. */
  usedAt?: (id: string) => number | undefined
}

/** Keys of accounts, in the contract's form. All functions throw `not_found` for a missing key. */
export type Keys = ReturnType<typeof createKeys>

export function createKeys(options: Options) {
  const { store, announce, modelIds, clock, usedAt = () => undefined } = options
  const { db } = store
  const forms = async (rows: readonly ApiKeysTable[]): Promise<ApiKey[]> => {
    const nowMs = clock()
    const budgets = await readKeyStates(db, rows, nowMs)
    return rows.map((row, index) =>
      keyForm(row, { nowMs, usedAtMs: usedAt(row.id), ...budgets[index]! }),
    )
  }
  const form = async (row: ApiKeysTable) => (await forms([row]))[0]!
  const created = async ({ row, key }: { row: ApiKeysTable; key: string }): Promise<CreatedKey> => {
    const shown = { ...(await form(row)), key }
    const { client_id } = row
    return client_id === null ? shown : { ...shown, client_id, client_secret: key }
  }
  const changed = (id: string) => announce({ kind: 'keys_changed', keyIds: [id] })
  return {
    modelIds,
    list: async (filter: KeyFilter, page: PageRequest) => {
      const found = selectKeys(db, filter, clock())
      const rows = await listPage(found, page, { time: 'created_at', toItem: (row) => row })
      return { ...rows, data: await forms(rows.data) }
    },
    retrieve: async (which: Which) => form(await find(db, which)),
    /** Throws `insufficient_scope` for settings that the issuer may not grant, as `update` and `rotate` do. */
    create: async (issuer: KeyIssuer, accountId: string, request: NewKey) => {
      return created(await create(options, issuer, { accountId, request }))
    },
    /** Throws `key_not_active` for a revoked key. */
    update: async (issuer: KeyIssuer, which: Which, change: Schemas['ApiKeyChange']) => {
      const row = await update(options, issuer, { which, change })
      changed(row.id)
      return form(row)
    },
    /** Replaces a key by one with the same settings; the old key expires after the overlap. Throws `key_not_active`. */
    rotate: async (issuer: KeyIssuer, which: Which, overlapMinutes: number) => {
      const made = await rotate(options, issuer, { which, overlapMinutes })
      changed(which.id)
      return created(made)
    },
    /** Revokes a key; does nothing for a revoked one. */
    revoke: async (issuer: KeyIssuer, which: Which) => {
      const row = await revoke(options, issuer, which)
      changed(row.id)
      return form(row)
    },
  }
}

async function find(
  db: Kysely<Tables>,
  { id, accountId, connectionOf: personId, createdBy }: Which,
): Promise<ApiKeysTable> {
  const found = await db.selectFrom('api_keys').selectAll().where('id', '=', id).executeTakeFirst()
  const isTheirs =
    (personId === undefined || (found?.kind === 'connection' && found.created_by === personId)) &&
    (createdBy === undefined || found?.created_by === createdBy)
  if (found !== undefined && isTheirs && (accountId ?? found.account_id) === found.account_id) {
    return found
  }
  const text =
    personId === undefined
      ? 'There is no such key. GET /api/keys lists the keys.'
      : 'You have no such connection. GET /api/me/connections lists yours.'
  throw new GatewayError('not_found', text, { param: 'id' })
}

function newSecret({ kind, mode }: Pick<ApiKeysTable, 'kind' | 'mode'>) {
  const key = createKey(kind === 'client' ? 'secret' : mode)
  return { key, columns: { id: newId('key'), digest: digestOf(key), hint: hintOf(key) } }
}

function create(
  { store, audit, modelIds, clock }: Options,
  issuer: KeyIssuer,
  { accountId, request }: { accountId: string; request: NewKey },
) {
  const { kind = 'key', mode, name, cassette = null } = request
  const nowMs = clock()
  assertForKind(kind, request)
  const columns = keyColumns(request, { modelIds, nowMs })
  const { key, columns: secret } = newSecret({ kind, mode })
  return store.db.transaction().execute(async (transaction) => {
    const bounds = await boundsOf(transaction, issuer, nowMs)
    const row: ApiKeysTable = {
      account_id: accountId,
      name,
      mode,
      ...plainKey,
      cassette,
      created_at: nowMs,
      created_by: await creatorOf(transaction, issuer),
      kind,
      client_id: kind === 'client' ? newId('client') : null,
      ...inherited(bounds),
      ...columns,
      ...secret,
    }
    assertGrantable(bounds, row)
    await transaction.insertInto('api_keys').values(row).execute()
    await registerClientOf(transaction, row)
    const act = { account_id: accountId, action: 'key.create', target: row.id } as const
    await audit.write(transaction, issuer, { ...act, after: keySettings(row) })
    return { row, key }
  })
}

function update(
  { store, audit, modelIds, clock }: Options,
  issuer: KeyIssuer,
  { which, change }: { which: Which; change: Schemas['ApiKeyChange'] },
): Promise<ApiKeysTable> {
  const nowMs = clock()
  const columns = keyColumns(change, { modelIds, nowMs })
  return store.db.transaction().execute(async (transaction) => {
    const row = await find(transaction, which)
    if (row.revoked_at !== null) throw revoked(row.revoked_at)
    assertChangeable(row, change)
    const bounds = await boundsOf(transaction, issuer, nowMs)
    assertMayChangeKey(bounds, row)
    const changed = { ...row, ...columns }
    assertGrantable(bounds, changed, Object.keys(change))
    const values = changedValues(keySettings(row), keySettings(changed))
    if (values === undefined) return row
    await transaction.updateTable('api_keys').set(columns).where('id', '=', row.id).execute()
    await followKey(transaction, changed)
    const act = { account_id: row.account_id, action: 'key.update', target: row.id } as const
    await audit.write(transaction, issuer, { ...act, ...values })
    return changed
  })
}

function rotate(
  { store, audit, clock }: Options,
  issuer: KeyIssuer,
  { which, overlapMinutes }: { which: Which; overlapMinutes: number },
) {
  const nowMs = clock()
  return store.db.transaction().execute(async (transaction) => {
    const old = await find(transaction, which)
    assertRotatable(old)
    assertReplaceable(old, nowMs)
    const bounds = await boundsOf(transaction, issuer, nowMs)
    assertMayChangeKey(bounds, old)
    assertGrantable(bounds, { ...old, created_at: nowMs })
    const { key, columns: secret } = newSecret(old)
    const fresh = { created_at: nowMs, last_used_at: null, counts_with: countedAs(old) }
    const row: ApiKeysTable = { ...old, ...fresh, ...secret }
    await transaction.insertInto('api_keys').values(row).execute()
    await registerClientOf(transaction, row)
    const end = nowMs + overlapMinutes * 60_000
    const ending = { replaced_by: row.id, expires_at: Math.min(old.expires_at ?? Infinity, end) }
    await transaction.updateTable('api_keys').set(ending).where('id', '=', old.id).execute()
    await followKey(transaction, { ...old, ...ending })
    const act = { account_id: old.account_id, action: 'key.rotate', target: old.id } as const
    const { expires_at: endedAt } = keySettings(old)
    const before = { replaced_by: null, expires_at: endedAt }
    const after = { replaced_by: row.id, expires_at: timeText(ending.expires_at) }
    await audit.write(transaction, issuer, { ...act, before, after })
    return { row, key }
  })
}

function revoke({ store, audit, clock }: Options, issuer: KeyIssuer, which: Which) {
  const now = clock()
  return store.db.transaction().execute(async (transaction) => {
    const row = await find(transaction, which)
    assertMayChangeKey(await boundsOf(transaction, issuer, now), row)
    if (row.revoked_at !== null) return row
    await revokeRow(transaction, row, { by: issuer, audit, now })
    return { ...row, revoked_at: now }
  })
}

async function revokeRow(
  transaction: Transaction<Tables>,
  row: ApiKeysTable,
  ending: Ending,
): Promise<void> {
  const { by, audit, now } = ending
  await transaction
    .updateTable('api_keys')
    .set({ revoked_at: now })
    .where('id', '=', row.id)
    .execute()
  await endWithKey(transaction, row, ending)
  const act = { account_id: row.account_id, action: 'key.revoke', target: row.id } as const
  const after = { revoked_at: timeText(now) }
  await audit.write(transaction, by, { ...act, before: { revoked_at: null }, after })
}

/** Revokes the API keys and clients that a person made in an account. */
export async function revokeKeysOf(
  transaction: Transaction<Tables>,
  { personId, accountId }: { personId: string; accountId: string },
  ending: Ending,
): Promise<void> {
  const rows = await transaction
    .selectFrom('api_keys')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('created_by', '=', personId)
    .where('kind', 'in', ['key', 'client'])
    .where('revoked_at', 'is', null)
    .execute()
  for (const row of rows) await revokeRow(transaction, row, ending)
}

/** Throws `key_not_active` for a revoked, expired or replaced key. */
function assertReplaceable(row: ApiKeysTable, nowMs: number): void {
  const { revoked_at: revokedAt, replaced_by: successor, expires_at: end } = row
  if (revokedAt !== null) throw revoked(revokedAt)
  if (successor !== null) {
    throw notActive(`This key is being replaced by ${successor}. Rotate that key.`)
  }
  if (end !== null && end <= nowMs) {
    throw notActive(`This key expired at ${timeText(end)}. Create a new one.`)
  }
}

function revoked(atMs: number): GatewayError {
  return notActive(`This key was revoked at ${timeText(atMs)}. Create a new one.`)
}

function notActive(message: string): GatewayError {
  return new GatewayError('key_not_active', message)
}
