import { sql } from 'kysely'
import type { Store } from '../storage/store.ts'

/** When keys were last used. */
export type LastUse = {
  /** Notes that a key is used now. */
  note(keyId: string): void
  /** What is not written yet, as a Unix time in milliseconds. */
  of(keyId: string): number | undefined
  /** Writes what waits; also when the store fails, there is nothing more to do. */
  close(): Promise<void>
}

type Options = {
  store: Pick<Store, 'db' | 'dialect'>
  /** Unix time in milliseconds. */
  clock: () => number
  keyUseWriteMs?: number
}

/** The last use is shown to people by the minute; a crash loses one interval. */
export const useWriteMs = 60_000
/** Uses of further keys within the interval are not recorded. */
const keysWaitingMax = 10_000

/** Writes when keys were last used: all of them together, once in a while. */
export function createLastUse({ store, clock, keyUseWriteMs = useWriteMs }: Options): LastUse {
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
      // A store that does not answer loses when a key was used, and nothing else.
      .catch(() => undefined)
    writing = new Map()
  }
  const timer = setInterval(() => void write(), keyUseWriteMs).unref()

  return {
    note: (keyId) => {
      if (waiting.size < keysWaitingMax || waiting.has(keyId)) waiting.set(keyId, clock())
    },
    of: (keyId) => waiting.get(keyId) ?? writing.get(keyId),
    close: async () => {
      clearInterval(timer)
      await write()
    },
  }
}

/**
 * One text for however many: the store keeps statements, and takes so many parameters only. Several
 * processes lock the rows in one order.
 */
function usedKeys(dialect: Store['dialect'], used: string) {
  if (dialect === 'sqlite') return sql`json_each(${used})`
  return sql`(
    select id as key, (${used}::json->>id)::bigint as value from api_keys
    where id in (select json_object_keys(${used}::json)) order by id for update
  )`
}
