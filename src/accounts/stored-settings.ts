import type { components } from '../../generated/types.ts'
import type { Actor } from '../core/caller.ts'
import type { Store } from '../storage/store.ts'
import { operatorChange, type OperatorChangeParts } from './operator-change.ts'

type Schemas = components['schemas']
type StoredSettings = Schemas['StoredSettings']

type Options = OperatorChangeParts & { clock: () => number }

const id = 'settings'

/** The settings that operators store while the gateway runs, as YAML. */
export function createStoredSettings(options: Options) {
  const { store, clock } = options
  const read = () => readStoredSettings(store)
  return {
    read,
    /** When they were stored last, in Unix milliseconds; undefined if never. */
    changedAt: async () => {
      const query = store.db.selectFrom('stored_settings').select('updated_at').where('id', '=', id)
      return (await query.executeTakeFirst())?.updated_at
    },
    /** Replaces the settings, which the caller must have validated, and returns them. */
    replace: async (by: Actor, content: string) => {
      await operatorChange(options, by, 'settings.update', async (transaction) => {
        const row = { id, yaml: content, updated_at: clock(), updated_by: by.id }
        await transaction
          .insertInto('stored_settings')
          .values(row)
          .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
          .execute()
        return { target: 'settings', after: { content } }
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
