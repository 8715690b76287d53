import type { Transaction } from 'kysely'
import type { Actor, Mode } from '../../core/caller.ts'
import { GatewayError, StoreRefusal } from '../../core/error.ts'
import type { AllowanceColumns, ApiKeysTable, Tables } from '../../storage/tables.ts'
import { allowanceColumns } from '../allowance.ts'
import { createToken, digestOf } from '../api-key.ts'
import { changedValues, type Audit, type ChangeParts } from '../audit.ts'
import { newId } from '../id.ts'
import { endOfKey } from '../identify.ts'
import { keySettings } from '../key-form.ts'
import { inState } from '../key-list.ts'
import { plainKey } from '../key-settings.ts'
import { countOf } from '../list-page.ts'
import { accessTokenPrefix } from './access-token.ts'
import { sharedWith } from './connection-changes.ts'
import { noteClientUse, plainName } from './registered-clients.ts'

/** A signed-in person, or the holder of an API key, who consents to a connection. */
type Consenter = { personId: string } | { keyId: string }

/** A consent to connect a client. */
export type Consent = {
  by: Consenter
  /** The network address of the consent. */
  address: string | null
  accountId: string
  /** The client as shown on the consent page; `name` is unverified text from the client. */
  client: { id: string; name: string; redirectHost?: string }
  /** Budget per month in US dollars; undefined for no budget. */
  monthlyBudgetUsd?: string | undefined
}

type Options = ChangeParts & {
  limits: { oauthConnectionsPerAccountMax: number }
}

/** The connections of clients to accounts by OAuth: rows of `api_keys` of kind `connection`. */
export function createConnections(options: Options) {
  const { store, audit, announce, clock, limits } = options
  return {
    /**
     * Returns the id of the connection's key, which is also the id of oidc-provider's Grant. Reuses the
     * connection of the same client, account and consenter if it exists. Throws `not_found` for an account
     * that the consenter does not belong to, `expired_api_key` and `invalid_api_key` for an ended key,
     * `insufficient_scope` for a key without the scope `inference`, and a StoreRefusal.
     */
    connect: async (consent: Consent): Promise<string> => {
      const id = await store.db.transaction().execute(async (transaction) => {
        const now = clock()
        const copied = await copiedFrom(transaction, consent, now)
        await noteClientUse(transaction, consent.client.id, now)
        const name = plainName(consent.client.name, consent.client.id)
        const found = await findSame(transaction, consent, now)
        if (found !== undefined) {
          await update(transaction, found, { name, mode: copied.mode, consent, audit })
          return found.id
        }
        await assertBelowMaximum(transaction, consent.accountId, { now, limits })
        const row = { ...rowOf(consent, name, now), ...budgetOf(consent), ...copied }
        await transaction.insertInto('api_keys').values(row).execute()
        const { kind, client_id, client_name, bound_to } = row
        const actor = actorOf(consent)
        const after = { ...keySettings(row), kind, client_id, client_name, bound_to }
        const act = { account_id: row.account_id, action: 'key.create', target: row.id } as const
        await audit.write(transaction, actor, { ...act, after })
        return row.id
      })
      // The budget of a reused connection may have changed.
      announce({ kind: 'keys_changed', keyIds: [id] })
      return id
    },
  }
}

function actorOf({ by, address }: Consent): Actor {
  return { id: 'personId' in by ? by.personId : by.keyId, address }
}

/** A connection that is bound to a key has the key's budget. */
function budgetOf({ by, monthlyBudgetUsd: usd }: Consent): Partial<AllowanceColumns> {
  if (usd === undefined || 'keyId' in by) return {}
  return allowanceColumns({ budget: { usd, period: 'month' } })
}

type Updating = {
  name: string
  mode: Mode | undefined
  consent: Consent
  audit: Pick<Audit, 'write'>
}

/** Updates a connection after a repeated consent. */
async function update(
  transaction: Transaction<Tables>,
  row: ApiKeysTable,
  { name, mode = row.mode, consent, audit }: Updating,
): Promise<void> {
  const client_redirect_host = consent.client.redirectHost ?? null
  const columns = { mode, client_name: name, client_redirect_host, ...budgetOf(consent) }
  await transaction.updateTable('api_keys').set(columns).where('id', '=', row.id).execute()
  const values = changedValues(keySettings(row), keySettings({ ...row, ...columns }))
  if (values === undefined) return
  const act = { account_id: row.account_id, action: 'key.update', target: row.id } as const
  await audit.write(transaction, actorOf(consent), { ...act, ...values })
}

/** The columns that a connection copies from its consenter, read in the same transaction. */
async function copiedFrom(
  transaction: Transaction<Tables>,
  { by, accountId }: Consent,
  now: number,
): Promise<Partial<ApiKeysTable>> {
  if ('personId' in by) {
    const member = await transaction
      .selectFrom('members')
      .select('sandbox_only')
      .where('account_id', '=', accountId)
      .where('person_id', '=', by.personId)
      .executeTakeFirst()
    if (member === undefined) throw notTheirs()
    return { created_by: by.personId, mode: member.sandbox_only === 1 ? 'test' : 'live' }
  }
  const key = await transaction
    .selectFrom('api_keys')
    .selectAll()
    .where('id', '=', by.keyId)
    .where('kind', '=', 'key')
    .executeTakeFirst()
  const ended = endOfKey(key, now)
  if (ended !== undefined || key === undefined) throw ended
  if (key.account_id !== accountId) throw notTheirs()
  const shared = sharedWith(key)
  if (shared.scopes === '[]') {
    const text =
      "The API key may not call models. Sign in with a key that has the scope 'inference'."
    throw new GatewayError('insufficient_scope', text)
  }
  return { ...shared, created_by: key.created_by, bound_to: key.id }
}

async function findSame(
  transaction: Transaction<Tables>,
  { by, accountId, client }: Consent,
  now: number,
): Promise<ApiKeysTable | undefined> {
  const rows = inState(transaction.selectFrom('api_keys').selectAll(), 'active', now)
    .where('client_id', '=', client.id)
    .where('account_id', '=', accountId)
    .where('kind', '=', 'connection')
  const same =
    'personId' in by
      ? rows.where('created_by', '=', by.personId).where('bound_to', 'is', null)
      : rows.where('bound_to', '=', by.keyId)
  return same.limit(1).executeTakeFirst()
}

async function assertBelowMaximum(
  transaction: Transaction<Tables>,
  accountId: string,
  { now, limits }: { now: number; limits: Options['limits'] },
): Promise<void> {
  const rows = inState(transaction.selectFrom('api_keys'), 'active', now)
    .where('account_id', '=', accountId)
    .where('kind', '=', 'connection')
  if ((await countOf(rows)) < limits.oauthConnectionsPerAccountMax) return
  const text =
    'The account has the maximum number of connections. End a connection that is not used.'
  throw new StoreRefusal('too_many_connections', text)
}

function rowOf({ accountId, client }: Consent, name: string, now: number): ApiKeysTable {
  return {
    id: newId('key'),
    account_id: accountId,
    name,
    mode: 'live',
    // The digest of a random token that is discarded: no secret matches it.
    digest: digestOf(createToken()),
    hint: `${accessTokenPrefix}…`,
    ...plainKey,
    created_at: now,
    kind: 'connection',
    client_id: client.id,
    client_name: name,
    client_redirect_host: client.redirectHost ?? null,
  }
}

function notTheirs(): GatewayError {
  const text = 'You are not a member of this account. Choose one of your accounts.'
  return new GatewayError('not_found', text, { param: 'account_id' })
}
