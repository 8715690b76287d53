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

/** Below what SQLite takes in one statement. */
const keysPerQuery = 1000

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
    const ids = [...byKey.keys()]
    for (let at = 0; at < ids.length; at += keysPerQuery) {
      const asked = ids.slice(at, at + keysPerQuery)
      const rows = await store.db
        .selectFrom('api_keys')
        .select(['id', 'expires_at', 'revoked_at'])
        .where('id', 'in', asked)
        .execute()
      const found = new Map(rows.map((row) => [row.id, row]))
      for (const id of asked) {
        const error = endOfKey(found.get(id), clock())
        if (error === undefined) continue
        for (const { ending } of byKey.get(id)!) ending.abort(new KeyEnded(error))
      }
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
