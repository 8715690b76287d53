import type { Kysely } from 'kysely'
import type { Caller } from '../core/caller.ts'
import type { GatewayError } from '../core/error.ts'
import { KeyEnded } from '../core/failure.ts'
import { listed } from '../storage/sql-dialect.ts'
import type { Store } from '../storage/store.ts'
import type { Tables } from '../storage/tables.ts'
import { endOfKey } from './identify.ts'
import { isOver, sessionOver } from './sessions.ts'

/** An exchange that is under way; it has a caller once its key is known. */
type Open = { caller?: Caller; ending: AbortController }

export type KeyWatch = {
  /** Follows an exchange until the returned function is called. */
  follow(open: Open): () => void
  /** Looks at once, since something has changed. */
  look(): void
  close(): void
}

type Options = {
  store: Pick<Store, 'db'>
  /** Unix time in milliseconds, by which keys expire. */
  clock: () => number
  keyRecheckMs?: number
  sessionIdleSeconds: number
}

/** Announced changes apply at once; this covers a lost announcement. */
const recheckMs = 1000

/**
 * Ends streams and long calls whose key was revoked or has expired since they began, or whose
 * session is over: all that have something open are looked up together, once in a while.
 */
export function createKeyWatch({
  store: { db },
  clock,
  keyRecheckMs = recheckMs,
  ...limits
}: Options): KeyWatch {
  const followed = createPlaces()

  const lookAtAll = async (): Promise<void> => {
    const open = followed.all().filter((one) => one.caller !== undefined)
    const isOfPerson = ({ caller }: Open) => caller!.person !== undefined
    await end(
      open.filter((one) => !isOfPerson(one)),
      async (ids) => {
        const found = await keysOf(db, ids)
        return (id) => endOfKey(found.get(id), clock())
      },
    )
    await end(open.filter(isOfPerson), async (ids) => {
      const found = await sessionsOf(db, ids)
      return (id) => {
        const row = found.get(id)
        return row === undefined || isOver(row, clock(), limits) ? sessionOver() : undefined
      }
    })
  }
  let looking: Promise<void> | undefined
  let isDue = false
  const look = (): void => {
    isDue = false
    if (followed.isEmpty()) return
    // A store that does not answer says nothing of a key; the next look is soon.
    looking = lookAtAll()
      .catch(() => undefined)
      .finally(() => {
        looking = undefined
        if (isDue) look()
      })
  }
  const timer = setInterval(() => {
    if (looking === undefined) look()
  }, keyRecheckMs).unref()

  return {
    follow: followed.add,
    look: () => {
      // One that is under way may have seen what was before.
      if (looking === undefined) look()
      else isDue = true
    },
    close: () => clearInterval(timer),
  }
}

/** Looks up, by their ids, why keys or sessions are none any more. */
type LookUp = (ids: readonly string[]) => Promise<(id: string) => GatewayError | undefined>

async function end(open: readonly Open[], lookUp: LookUp): Promise<void> {
  const byKey = Map.groupBy(open, ({ caller }) => caller!.keyId)
  if (byKey.size === 0) return
  const endOf = await lookUp([...byKey.keys()])
  for (const [id, opened] of byKey) {
    const error = endOf(id)
    if (error === undefined) continue
    for (const { ending } of opened) ending.abort(new KeyEnded(error))
  }
}

async function keysOf(db: Kysely<Tables>, ids: readonly string[]) {
  const rows = await db
    .selectFrom('api_keys')
    .select(['id', 'kind', 'expires_at', 'revoked_at'])
    .where('id', 'in', listed(db, ids))
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}

async function sessionsOf(db: Kysely<Tables>, ids: readonly string[]) {
  const rows = await db
    .selectFrom('sessions')
    .select(['id', 'expires_at', 'last_used_at'])
    .where('id', 'in', listed(db, ids))
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}

type Place = { open: Open; index: number }

/**
 * What is open, in any order. A Set would keep what came and went until V8 collects its whole heap:
 * each table of a Set leads to the next, so that an old one holds all behind it
 * (docs/performance.md#event-streams).
 */
function createPlaces() {
  const places: Place[] = []
  return {
    all: (): Open[] => places.map(({ open }) => open),
    isEmpty: () => places.length === 0,
    /** The returned function takes it out; to be called once. */
    add: (open: Open): (() => void) => {
      const place = { open, index: places.length }
      places.push(place)
      return () => {
        const last = places.pop()!
        if (last === place) return
        last.index = place.index
        places[place.index] = last
      }
    },
  }
}
