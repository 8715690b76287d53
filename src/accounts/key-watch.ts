import type { Kysely } from 'kysely'
import type { Caller } from '../core/caller.ts'
import type { GatewayError } from '../core/error.ts'
import { KeyEnded } from '../core/failure.ts'
import { createPlaces } from '../core/resilience/places.ts'
import { listed } from '../storage/sql-dialect.ts'
import type { Store } from '../storage/store.ts'
import type { Tables } from '../storage/tables.ts'
import { endOfKey } from './identify.ts'
import { isOver, sessionOver } from './sessions.ts'

/** A running exchange; `caller` is set after its key is identified. */
type Open = { caller?: Caller; ending: AbortController }

type Options = {
  store: Pick<Store, 'db'>
  /** Unix time in milliseconds, by which keys expire. */
  clock: () => number
  keyRecheckMs: number
  sessionIdleSeconds: number
}

export type KeyWatch = ReturnType<typeof createKeyWatch>

/**
 * Aborts streams and long calls when their key is revoked or expires, or when their session ends. The
 * keys and sessions of all running exchanges are looked up together, every `keyRecheckMs`.
 */
export function createKeyWatch({ store: { db }, clock, keyRecheckMs, ...limits }: Options) {
  const followed = createPlaces<Open>()

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
    // When the store fails, exchanges continue until the next check.
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
    /** Follows an exchange until the returned function is called. */
    follow: followed.add,
    /** Checks all followed exchanges now, after a change was announced. */
    look: () => {
      // A running check may have read the old state, so another check follows.
      if (looking === undefined) look()
      else isDue = true
    },
    close: () => clearInterval(timer),
  }
}

/** Looks up keys or sessions by id; the result returns the error for an ended key or session. */
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
