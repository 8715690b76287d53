import { sql } from 'kysely'
import type { Caller } from '../core/caller.ts'
import { KeyEnded } from '../core/failure.ts'
import type { Store } from '../storage/store.ts'
import { endOfKey } from './identify.ts'

/** An exchange that is under way; it has a caller once its key is known. */
type Open = { caller?: Caller; ending: AbortController }

export type KeyWatch = {
  /** Follows an exchange until the returned function is called. */
  follow(open: Open): () => void
  close(): void
}

type Options = {
  store: Pick<Store, 'db'>
  /** Unix time in milliseconds, by which keys expire. */
  clock: () => number
  keyRecheckMs: number
}

/**
 * Ends streams and long calls whose key was revoked or has expired since they began: all keys that
 * have something open are looked up together, once in a while.
 */
export function createKeyWatch({ store, clock, keyRecheckMs }: Options): KeyWatch {
  const followed = new Set<Open>()
  let isLooking = false

  const look = async (): Promise<void> => {
    const open = [...followed].filter((one) => one.caller !== undefined)
    const byKey = Map.groupBy(open, ({ caller }) => caller!.keyId)
    if (byKey.size === 0) return
    // One text for however many: the store keeps statements, and takes so many parameters only.
    const ids = JSON.stringify([...byKey.keys()])
    const rows = await store.db
      .selectFrom('api_keys')
      .select(['id', 'expires_at', 'revoked_at'])
      .where('id', 'in', sql<string>`(select value from json_each(${ids}))`)
      .execute()
    const found = new Map(rows.map((row) => [row.id, row]))
    for (const [id, opened] of byKey) {
      const error = endOfKey(found.get(id), clock())
      if (error === undefined) continue
      for (const { ending } of opened) ending.abort(new KeyEnded(error))
    }
  }
  const timer = setInterval(() => {
    if (isLooking || followed.size === 0) return
    isLooking = true
    // A store that does not answer says nothing of a key; the next look is soon.
    look()
      .catch(() => undefined)
      .finally(() => (isLooking = false))
  }, keyRecheckMs).unref()

  return {
    follow: (open) => {
      followed.add(open)
      return () => followed.delete(open)
    },
    close: () => clearInterval(timer),
  }
}
