import { sql } from 'kysely'
import type { Store } from '../storage/store.ts'

type Options = {
  store: Pick<Store, 'db' | 'dialect'>
  clock: () => number
  keyUseWriteMs: number
}

/** Maximum of keys with a pending use; uses of further keys are not recorded. */
const keysWaitingMax = 10_000

/** Writes the last uses of all keys together, once per interval. */
export function createLastUse({ store, clock, keyUseWriteMs }: Options) {
  let waiting = new Map<string, number>()
  let writing = new Map<string, number>()

  const write = async (): Promise<void> => {
    if (waiting.size === 0 || writing.size > 0) return
    writing = waiting
    waiting = new Map()
    await sql`
      update api_keys set last_used_at = used.value
      from ${usedKeys(store.dialect, JSON.stringify(Object.fromEntries(writing)))} as used
      where api_keys.id = used.key
        and (api_keys.last_used_at is null or api_keys.last_used_at < used.value)
    `
      .execute(store.db)
      // If the store fails, only these times are lost.
      .catch(() => undefined)
    writing = new Map()
  }
  const timer = setInterval(() => void write(), keyUseWriteMs).unref()

  return {
    /** Records a use of a key now. */
    note: (keyId: string) => {
      if (waiting.size < keysWaitingMax || waiting.has(keyId)) waiting.set(keyId, clock())
    },
    /** The last use that is not stored yet, a Unix time in milliseconds. */
    of: (keyId: string) => waiting.get(keyId) ?? writing.get(keyId),
    /** Writes pending uses and stops the timer. Never rejects. */
    close: async () => {
      clearInterval(timer)
      await write()
    },
  }
}

/**
 * Passes all uses as one JSON parameter, so that the statement text stays the same and the number of
 * parameters is one. The `order by` makes several processes lock the rows in the same order.
 */
function usedKeys(dialect: Store['dialect'], used: string) {
  if (dialect === 'sqlite') return sql`json_each(${used})`
  return sql`(
    select id as key, (${used}::json->>id)::bigint as value from api_keys
    where id in (select json_object_keys(${used}::json)) order by id for update
  )`
}
