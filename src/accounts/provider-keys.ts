import type { Kysely, Transaction } from 'kysely'
import type { components } from '../../generated/types.ts'
import type { Actor } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import type { Encryption } from '../storage/encryption.ts'
import type { Store } from '../storage/store.ts'
import type { Tables } from '../storage/tables.ts'
import { newId } from './id.ts'
import { operatorChange, type OperatorChangeParts } from './operator-change.ts'
import { encryptSecretsAgain } from './webhooks/secrets.ts'

type Schemas = components['schemas']
type ProviderKey = Schemas['ProviderKey']

type Options = OperatorChangeParts & { encryption: Encryption; clock: () => number }

/** The stored keys in plain text, by provider id. */
type ReadKeys = {
  keys: Readonly<Record<string, readonly string[]>>
  /** One sentence for each key that cannot be decrypted. */
  notices: readonly string[]
}

/** One stored key of a provider; without `id`, all its stored keys. */
type Which = { id?: string }

export type ProviderKeys = ReturnType<typeof createProviderKeys>

/** Keys of one provider: enough for rotation over many accounts; bounds the work of a change. */
const keysPerProviderMax = 20
/** A shorter key has too few characters to show some of them. */
const hintKeyLengthMin = 16
const hintLength = 4

/** API keys of providers that operators added while the gateway ran, encrypted in the store. */
export function createProviderKeys(options: Options) {
  const { store, encryption } = options
  const { db } = store
  const plain = (row: Tables['provider_keys']) => encryption.decrypt(row, contextOf(row))
  return {
    read: () => readProviderKeys(store, encryption),
    /** Changes when a key is added, removed or encrypted again. */
    version: async () => {
      const columns = ['id', 'encryption_key_id'] as const
      const found = await db.selectFrom('provider_keys').select(columns).orderBy('id').execute()
      return found.map(({ id, encryption_key_id: by }) => `${id} ${by}`).join()
    },
    /** The keys without their secrets, oldest first; `usesStore` is whether a provider uses stored keys. */
    list: async (usesStore: (providerId: string) => boolean): Promise<ProviderKey[]> =>
      (await rowsIn(db)).map((row) => {
        const isUsed = usesStore(row.provider_id) && plain(row) !== undefined
        return { ...toForm(row), is_used: isUsed }
      }),
    /** The key in plain text, for a test. Throws `not_found`, or `invalid_value` if it cannot be decrypted. */
    reveal: async (providerId: string, id: string) => {
      const [found] = select(await rowsIn(db), providerId, { id })
      const key = plain(found)
      if (key === undefined) throw new GatewayError('invalid_value', unreadable(found))
      return key
    },
    /** Stores a key, in place of others if `replaces` is given. Throws `invalid_value`, `not_found`. */
    create: async (by: Actor, providerId: string, key: string, replaces?: Which) =>
      toForm(await insert(options, by, providerId, key, replaces)),
    /** Throws `not_found` if there is no such key. */
    remove: (by: Actor, providerId: string, which: Which) =>
      operatorChange(options, by, 'provider_key.delete', async (transaction) => {
        const found = select(await rowsIn(transaction), providerId, which)
        await deleteAll(transaction, found)
        return { target: which.id ?? providerId, before: summary(providerId, found) }
      }),
    /** Encrypts all keys, and the secrets of webhooks, again with the newest encryption key, and returns their number. */
    encryptAgain: async (by: Actor) => {
      encryption.replaceKey()
      let count = 0
      await operatorChange(options, by, 'provider_key.encrypt', async (transaction) => {
        const all = await rowsIn(transaction)
        for (const row of all) {
          const key = plain(row)
          if (key === undefined) throw new GatewayError('invalid_value', unreadable(row))
          const next = encryption.encrypt(key, contextOf(row))
          await transaction
            .updateTable('provider_keys')
            .set(next)
            .where('id', '=', row.id)
            .execute()
        }
        await encryptSecretsAgain(transaction, encryption)
        count = all.length
        return { target: 'provider_keys', after: { keys: count } }
      })
      return count
    },
  }
}

/** Reads and decrypts all stored keys. */
export async function readProviderKeys(
  { db }: Pick<Store, 'db'>,
  encryption: Encryption,
): Promise<ReadKeys> {
  const rows = await rowsIn(db)
  const all = rows.map((row) => ({ ...row, key: encryption.decrypt(row, contextOf(row)) }))
  const readable = all.flatMap(({ provider_id: id, key }) =>
    key === undefined ? [] : [{ id, key }],
  )
  const byProvider = Map.groupBy(readable, ({ id }) => id)
  return {
    keys: Object.fromEntries(
      [...byProvider].map(([id, found]) => [id, found.map(({ key }) => key)]),
    ),
    notices: all.filter(({ key }) => key === undefined).map(unreadable),
  }
}

async function insert(
  options: Options,
  by: Actor,
  providerId: string,
  key: string,
  replaces?: Which,
): Promise<Tables['provider_keys']> {
  const { encryption, clock } = options
  const id = newId('pvk')
  const row: Tables['provider_keys'] = {
    id,
    provider_id: providerId,
    ...encryption.encrypt(key, contextOf({ id, provider_id: providerId })),
    hint: key.length < hintKeyLengthMin ? '…' : `…${key.slice(-hintLength)}`,
    created_at: clock(),
    created_by: by.id,
  }
  await operatorChange(options, by, 'provider_key.create', async (transaction) => {
    const own = (await rowsIn(transaction)).filter((one) => one.provider_id === providerId)
    const replaced =
      replaces?.id === undefined
        ? own.filter(() => replaces !== undefined)
        : select(own, providerId, replaces, 'replaces')
    const left = own.filter((one) => !replaced.includes(one))
    const same = left.find((one) => encryption.decrypt(one, contextOf(one)) === key)
    if (same !== undefined) throw refusal(`This key is already stored as ${same.id}.`)
    if (left.length >= keysPerProviderMax)
      throw refusal(`A provider can have ${keysPerProviderMax} stored keys. Remove one first.`)
    await deleteAll(transaction, replaced)
    await transaction.insertInto('provider_keys').values(row).execute()
    const before = replaced.length === 0 ? {} : { before: summary(providerId, replaced) }
    return { target: id, ...before, after: summary(providerId, [row]) }
  })
  return row
}

function toForm(row: Tables['provider_keys']): Omit<ProviderKey, 'is_used'> {
  return {
    id: row.id,
    object: 'provider_key',
    provider: row.provider_id,
    hint: row.hint,
    created_at: new Date(row.created_at).toISOString(),
    created_by: row.created_by,
  }
}

function rowsIn(db: Pick<Kysely<Tables>, 'selectFrom'>): Promise<Tables['provider_keys'][]> {
  return db.selectFrom('provider_keys').selectAll().orderBy('created_at').orderBy('id').execute()
}

/** At least one key. Throws `not_found`. */
function select(
  rows: readonly Tables['provider_keys'][],
  providerId: string,
  { id }: Which,
  param = 'id',
): [Tables['provider_keys'], ...Tables['provider_keys'][]] {
  const own = rows.filter((row) => row.provider_id === providerId)
  const [first, ...others] = id === undefined ? own : own.filter((row) => row.id === id)
  if (first !== undefined) return [first, ...others]
  const text = id === undefined ? 'No key' : `No key ${id.slice(0, 100)}`
  throw new GatewayError('not_found', `${text} of ${providerId} is stored.`, { param })
}

async function deleteAll(
  transaction: Transaction<Tables>,
  rows: readonly Tables['provider_keys'][],
): Promise<void> {
  for (const { id } of rows)
    await transaction.deleteFrom('provider_keys').where('id', '=', id).execute()
}

/** Binds a ciphertext to its row. */
function contextOf({
  id,
  provider_id: providerId,
}: Pick<Tables['provider_keys'], 'id' | 'provider_id'>) {
  return `${providerId} ${id}`
}

/** The values of an audit event. */
function summary(provider: string, keys: readonly Tables['provider_keys'][]): object {
  return { provider, keys: keys.map(({ hint }) => hint) }
}

function unreadable({
  id,
  provider_id: providerId,
  encryption_key_id: by,
}: Tables['provider_keys']) {
  return `The stored key ${id} of ${providerId} cannot be decrypted: the encryption key ${by} is missing. Restore ENCRYPTION_KEY or the file gateway.key in DATA_DIR, or remove the key and add it again.`
}

function refusal(text: string): GatewayError {
  return new GatewayError('invalid_value', text, { param: 'key' })
}
