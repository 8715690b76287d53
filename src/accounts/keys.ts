import { sql, type Kysely, type SelectQueryBuilder } from 'kysely'
import type { components } from '../../generated/types.ts'
import { GatewayError } from '../core/error.ts'
import { pageOf, placeIn, type Page, type PageRequest } from '../core/page.ts'
import type { Store } from '../storage/store.ts'
import type { ApiKeysTable, Tables } from '../storage/tables.ts'
import { countedAs, noAllowance } from './allowance.ts'
import { createKey, digestOf, hintOf } from './api-key.ts'
import type { Audit } from './audit.ts'
import { changedValues } from './changed-values.ts'
import { newId } from './id.ts'
import {
  assertBelow,
  assertGivable,
  boundsOf,
  inherited,
  personBehind,
  type Giver,
} from './key-bounds.ts'
import { keyForm, keySettings, timeText } from './key-form.ts'
import { keyColumns, type ModelIds } from './key-settings.ts'
import { endWithKey, followKey } from './oauth/bound-connections.ts'
import { assertChangeable, assertRotatable } from './oauth/connection-settings.ts'

type Schemas = components['schemas']
type ApiKey = Schemas['ApiKey']
type CreatedKey = Schemas['CreatedApiKey']
/** A new key; what is left out has the contract's default. */
export type NewKey = Schemas['NewApiKey']

export type KeyFilter = {
  /** Undefined for the keys of all accounts. */
  accountId?: string
  state?: ApiKey['state'] | undefined
  mode?: ApiKey['mode'] | undefined
  /** What its name has in it. */
  name?: string | undefined
}

/** A key of an account; undefined for any account. */
type Which = { id: string; accountId?: string }

/** Keys of accounts, in the contract's form. All throw `not_found` for a key that is not there. */
export type Keys = {
  list(filter: KeyFilter, page: PageRequest): Promise<Page<ApiKey>>
  retrieve(which: Which): Promise<ApiKey>
  /** Throws `insufficient_scope` for what the giver may not hand out, as the next two do. */
  create(giver: Giver, accountId: string, asked: NewKey): Promise<CreatedKey>
  /** Throws `key_not_active` for a revoked key. */
  update(giver: Giver, which: Which, change: Schemas['ApiKeyChange']): Promise<ApiKey>
  /** Makes a key that may do the same; the old one ends after the overlap. Throws `key_not_active`. */
  rotate(giver: Giver, which: Which, overlapMinutes: number): Promise<CreatedKey>
  /** Ends a key; one that is revoked already stays as it is. */
  revoke(giver: Giver, which: Which): Promise<ApiKey>
}

type Options = {
  store: Pick<Store, 'db'>
  audit: Pick<Audit, 'write'>
  modelIds: ModelIds
  /** Unix time in milliseconds. */
  clock: () => number
  /** When a key was last used, where that is not written yet. */
  usedAt?: (id: string) => number | undefined
}

export function createKeys(options: Options): Keys {
  const { store, clock, usedAt = () => undefined } = options
  const { db } = store
  const form = (row: ApiKeysTable) => keyForm(row, clock(), usedAt(row.id))
  return {
    list: async (filter, page) => {
      const rows = await select(db, filter, page, clock()).execute()
      return pageOf(rows, page.limit, {
        placeOf: ({ created_at: at, id }) => [at, id],
        tell: form,
      })
    },
    retrieve: async (which) => form(await find(db, which)),
    create: async (giver, accountId, asked) => {
      const { row, key } = await create(options, giver, { accountId, asked })
      return { ...form(row), key }
    },
    update: async (giver, which, change) => form(await update(options, giver, { which, change })),
    rotate: async (giver, which, overlapMinutes) => {
      const { row, key } = await rotate(options, giver, { which, overlapMinutes })
      return { ...form(row), key }
    },
    revoke: async (giver, which) => form(await revoke(options, giver, which)),
  }
}

/** How many keys work at a Unix time in milliseconds. */
export async function countActiveKeys({ db }: Pick<Store, 'db'>, nowMs: number): Promise<number> {
  const { count } = await inState(db.selectFrom('api_keys'), 'active', nowMs)
    .select((one) => one.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

function inState<Row>(
  rows: SelectQueryBuilder<Tables, 'api_keys', Row>,
  state: ApiKey['state'],
  nowMs: number,
) {
  if (state === 'revoked') return rows.where('revoked_at', 'is not', null)
  const unrevoked = rows.where('revoked_at', 'is', null)
  return state === 'expired'
    ? unrevoked.where('expires_at', '<=', nowMs)
    : unrevoked.where((one) =>
        one.or([one('expires_at', 'is', null), one('expires_at', '>', nowMs)]),
      )
}

function select(
  db: Kysely<Tables>,
  { accountId, state, mode, name }: KeyFilter,
  { limit, cursor, order }: PageRequest,
  now: number,
) {
  let rows = db.selectFrom('api_keys').selectAll()
  if (accountId !== undefined) rows = rows.where('account_id', '=', accountId)
  if (mode !== undefined) rows = rows.where('mode', '=', mode)
  if (state !== undefined) rows = inState(rows, state, now)
  if (name !== undefined) {
    const pattern = `%${name.replaceAll(/[\\%_]/g, '\\$&')}%`
    // The database has the letters a to z in lower case.
    const plain = pattern.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
    rows = rows.where(sql<boolean>`lower(name) like ${plain} escape '\\'`)
  }
  if (cursor !== undefined) {
    const [at, id] = placeIn(cursor, ['number', 'string'])
    const beyond = sql.raw(order === 'asc' ? '>' : '<')
    rows = rows.where(sql<boolean>`(created_at, id) ${beyond} (${at}, ${id})`)
  }
  return rows
    .orderBy('created_at', order)
    .orderBy('id', order)
    .limit(limit + 1)
}

async function find(db: Kysely<Tables>, { id, accountId }: Which): Promise<ApiKeysTable> {
  const found = await db.selectFrom('api_keys').selectAll().where('id', '=', id).executeTakeFirst()
  if (found !== undefined && (accountId === undefined || found.account_id === accountId)) {
    return found
  }
  throw new GatewayError(
    'not_found',
    'There is no such key. GET /api/keys lists those there are.',
    {
      param: 'id',
    },
  )
}

function newSecret(mode: ApiKey['mode']) {
  const key = createKey(mode)
  return { key, columns: { id: newId('key'), digest: digestOf(key), hint: hintOf(key) } }
}

function create(
  { store, audit, modelIds, clock }: Options,
  giver: Giver,
  { accountId, asked }: { accountId: string; asked: NewKey },
) {
  const { mode, name } = asked
  const nowMs = clock()
  const columns = keyColumns(asked, { modelIds, nowMs })
  const { key, columns: secret } = newSecret(mode)
  return store.db.transaction().execute(async (transaction) => {
    const bounds = await boundsOf(transaction, giver, nowMs)
    const row: ApiKeysTable = {
      account_id: accountId,
      name,
      mode,
      allowed_models: null,
      scopes: JSON.stringify(['inference']),
      allowed_addresses: null,
      ...noAllowance,
      created_at: nowMs,
      expires_at: null,
      revoked_at: null,
      replaced_by: null,
      counts_with: null,
      last_used_at: null,
      created_by: await personBehind(transaction, giver),
      kind: 'key',
      client_id: null,
      client_name: null,
      bound_to: null,
      ...inherited(bounds),
      ...columns,
      ...secret,
    }
    assertGivable(bounds, row)
    await transaction.insertInto('api_keys').values(row).execute()
    const act = { account_id: accountId, action: 'key.create', target: row.id } as const
    await audit.write(transaction, giver, { ...act, after: keySettings(row) })
    return { row, key }
  })
}

function update(
  { store, audit, modelIds, clock }: Options,
  giver: Giver,
  { which, change }: { which: Which; change: Schemas['ApiKeyChange'] },
): Promise<ApiKeysTable> {
  const nowMs = clock()
  const columns = keyColumns(change, { modelIds, nowMs })
  return store.db.transaction().execute(async (transaction) => {
    const row = await find(transaction, which)
    if (row.revoked_at !== null) throw revoked(row.revoked_at)
    assertChangeable(row, change)
    const bounds = await boundsOf(transaction, giver, nowMs)
    assertBelow(bounds, row)
    const changed = { ...row, ...columns }
    assertGivable(bounds, changed, Object.keys(change))
    const values = changedValues(keySettings(row), keySettings(changed))
    if (values === undefined) return row
    await transaction.updateTable('api_keys').set(columns).where('id', '=', row.id).execute()
    await followKey(transaction, changed)
    const act = { account_id: row.account_id, action: 'key.update', target: row.id } as const
    await audit.write(transaction, giver, { ...act, ...values })
    return changed
  })
}

function rotate(
  { store, audit, clock }: Options,
  giver: Giver,
  { which, overlapMinutes }: { which: Which; overlapMinutes: number },
) {
  const nowMs = clock()
  return store.db.transaction().execute(async (transaction) => {
    const old = await find(transaction, which)
    assertRotatable(old)
    assertReplaceable(old, nowMs)
    const bounds = await boundsOf(transaction, giver, nowMs)
    assertBelow(bounds, old)
    assertGivable(bounds, old)
    const { key, columns: secret } = newSecret(old.mode)
    const fresh = { created_at: nowMs, last_used_at: null, counts_with: countedAs(old) }
    const row: ApiKeysTable = { ...old, ...fresh, ...secret }
    await transaction.insertInto('api_keys').values(row).execute()
    const end = nowMs + overlapMinutes * 60_000
    const ending = { replaced_by: row.id, expires_at: Math.min(old.expires_at ?? Infinity, end) }
    await transaction.updateTable('api_keys').set(ending).where('id', '=', old.id).execute()
    await followKey(transaction, { ...old, ...ending })
    const act = { account_id: old.account_id, action: 'key.rotate', target: old.id } as const
    const { expires_at: endedAt } = keySettings(old)
    const before = { replaced_by: null, expires_at: endedAt }
    const after = { replaced_by: row.id, expires_at: timeText(ending.expires_at) }
    await audit.write(transaction, giver, { ...act, before, after })
    return { row, key }
  })
}

function revoke({ store, audit, clock }: Options, giver: Giver, which: Which) {
  const nowMs = clock()
  return store.db.transaction().execute(async (transaction) => {
    const row = await find(transaction, which)
    assertBelow(await boundsOf(transaction, giver, nowMs), row)
    if (row.revoked_at !== null) return row
    const ending = { revoked_at: nowMs }
    await transaction.updateTable('api_keys').set(ending).where('id', '=', row.id).execute()
    await endWithKey(transaction, row, { by: giver, audit, now: nowMs })
    const act = { account_id: row.account_id, action: 'key.revoke', target: row.id } as const
    const after = { revoked_at: timeText(nowMs) }
    await audit.write(transaction, giver, { ...act, before: { revoked_at: null }, after })
    return { ...row, ...ending }
  })
}

/** Throws `key_not_active` for a key that has ended, and for one that has a successor. */
function assertReplaceable(row: ApiKeysTable, nowMs: number): void {
  const { revoked_at: revokedAt, replaced_by: successor, expires_at: end } = row
  if (revokedAt !== null) throw revoked(revokedAt)
  if (successor !== null) {
    throw notActive(`This key is being replaced by ${successor}. Rotate that one.`)
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
