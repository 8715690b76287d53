import type { components } from '../../generated/types.ts'
import type { Actor } from '../core/caller.ts'
import type { Store } from '../storage/store.ts'
import type { Accounts } from './accounts.ts'
import type { Audit } from './audit.ts'

type Schemas = components['schemas']
type StoredSettings = Schemas['StoredSettings']

type Options = {
  store: Pick<Store, 'db'>
  accounts: Pick<Accounts, 'first'>
  audit: Pick<Audit, 'write'>
  clock: () => number
}

/** The settings that operators store while the gateway runs, as YAML. */
export type StoredSettingsStore = {
  read(): Promise<StoredSettings>
  /** When they were stored last, in Unix milliseconds; undefined if never. */
  changedAt(): Promise<number | undefined>
  /** Replaces the settings, which the caller must have validated, and returns them. */
  replace(by: Actor, content: string): Promise<StoredSettings>
}

const id = 'settings'

export function createStoredSettings(options: Options): StoredSettingsStore {
  const { store, accounts, audit, clock } = options
  const read = () => readStoredSettings(store)
  return {
    read,
    changedAt: async () => {
      const query = store.db.selectFrom('stored_settings').select('updated_at').where('id', '=', id)
      return (await query.executeTakeFirst())?.updated_at
    },
    replace: async (by, content) => {
      const { id: accountId } = await accounts.first()
      await store.db.transaction().execute(async (transaction) => {
        const row = { id, yaml: content, updated_at: clock(), updated_by: by.id }
        await transaction
          .insertInto('stored_settings')
          .values(row)
          .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
          .execute()
        await audit.write(transaction, by, {
          account_id: accountId,
          action: 'settings.update',
          target: 'settings',
          after: { content },
        })
      })
      return read()
    },
  }
}

/** The stored settings; empty if there are none. */
export async function readStoredSettings({ db }: Pick<Store, 'db'>): Promise<StoredSettings> {
  const query = db.selectFrom('stored_settings').selectAll().where('id', '=', id)
  const row = await query.executeTakeFirst()
  return {
    object: 'stored_settings',
    content: row?.yaml ?? '',
    updated_at: row === undefined ? null : new Date(row.updated_at).toISOString(),
    updated_by: row?.updated_by ?? null,
  }
}
