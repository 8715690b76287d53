import { sql, type Kysely } from 'kysely'
import { clocksDifferMaxMs } from '../../core/time.ts'
import { listed } from '../../storage/sql-dialect.ts'
import type { Announce } from '../../peers/announcement.ts'
import type { Store } from '../../storage/store.ts'
import type { Tables } from '../../storage/tables.ts'
import { inState } from '../key-list.ts'
import { sweepAgain, takeTurn, type Sweep } from '../sweep.ts'
import { countRegistered } from './registered-clients.ts'

type Options = {
  store: Pick<Store, 'db'>
  announce: Announce
  clock: () => number
  limits: SweepLimits
  /** Called after each sweep; `error` is the reason if the sweep failed. */
  onSwept: (error?: unknown) => void
}

type SweepLimits = {
  oauthClientsMax: number
  oauthSweepMs: number
  oauthSweepRowsMax: number
  oauthUnusedClientTtlSeconds: number
  oauthIdleClientTtlSeconds: number
}

/**
 * Beyond half of the limit, unused clients end after a day: so many registrations are no people.
 */
const crowdedClientTtlSeconds = 86_400

/** Maximum of batches of each kind in one sweep; further rows wait for the next sweep. */
const batchesMax = 10
const tokenKinds = ['AccessToken', 'AuthorizationCode', 'RefreshToken']
/** The age below which a connection without tokens is kept: its client may not have exchanged its code yet. */
const beginsMs = 600_000
/** Maximum of key ids in one announcement. */
const announcedMax = 100

/**
 * Removes expired codes, tokens and sign-ins, ends connections without tokens, and removes unused clients
 * that registered themselves. Works in batches, in one process at a time.
 */
export function sweepOAuth(options: Options): Sweep {
  const { announce, clock, limits, onSwept } = options
  const { oauthSweepMs: intervalMs, oauthSweepRowsMax: rowsMax } = limits
  const { db } = options.store
  const sweep = async () => {
    const now = clock()
    // Another process may have swept within this interval.
    if (!(await takeTurn(db, 'oauth_sweep', now, intervalMs))) return false
    await inBatches(rowsMax, () => removeExpired(db, now, rowsMax))
    await inBatches(rowsMax, async () => {
      const ended = await endWithoutTokens(db, now, rowsMax)
      for (let from = 0; from < ended.length; from += announcedMax)
        announce({ kind: 'keys_changed', keyIds: ended.slice(from, from + announcedMax) })
      return ended.length
    })
    await inBatches(rowsMax, () => removeUnusedClients(db, now, limits))
    return true
  }
  return sweepAgain(sweep, { intervalMs, onSwept })
}

async function inBatches(rowsMax: number, remove: () => Promise<number>): Promise<void> {
  for (let count = 0; count < batchesMax; count++) if ((await remove()) < rowsMax) return
}

async function removeExpired(db: Kysely<Tables>, now: number, rowsMax: number): Promise<number> {
  const expired = db
    .selectFrom('oauth_artifacts')
    .select('digest')
    .where('expires_at', '<=', now - clocksDifferMaxMs)
    .limit(rowsMax)
  const { numDeletedRows } = await db
    .deleteFrom('oauth_artifacts')
    .where('digest', 'in', expired)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** Ends connections whose client holds no valid token or code; returns their ids. */
async function endWithoutTokens(
  db: Kysely<Tables>,
  now: number,
  rowsMax: number,
): Promise<string[]> {
  const over = inState(db.selectFrom('api_keys').select('id'), 'active', now)
    .where('client_id', 'is not', null)
    .where('kind', '=', 'connection')
    .where('created_at', '<=', now - beginsMs)
    .where(({ exists, not, selectFrom }) =>
      not(
        exists(
          selectFrom('oauth_artifacts')
            .select('digest')
            .whereRef('oauth_artifacts.grant_id', '=', 'api_keys.id')
            .where('oauth_artifacts.kind', 'in', tokenKinds)
            .where('consumed_at', 'is', null)
            .where('oauth_artifacts.expires_at', '>', now - clocksDifferMaxMs),
        ),
      ),
    )
    .limit(rowsMax)
  const ended = await db
    .updateTable('api_keys')
    .set({ expires_at: now })
    .where('id', 'in', over)
    .returning('id')
    .execute()
  const ids = ended.map(({ id }) => id)
  if (ids.length === 0) return ids
  await db.deleteFrom('oauth_artifacts').where('grant_id', 'in', listed(db, ids)).execute()
  return ids
}

async function removeUnusedClients(
  db: Kysely<Tables>,
  now: number,
  limits: Options['limits'],
): Promise<number> {
  const isCrowded = (await countRegistered(db)) > limits.oauthClientsMax / 2
  const ttlSeconds = isCrowded ? crowdedClientTtlSeconds : limits.oauthUnusedClientTtlSeconds
  const unused = now - ttlSeconds * 1000
  const idle = now - limits.oauthIdleClientTtlSeconds * 1000
  const keysOfIt = inState(db.selectFrom('api_keys').select('id'), 'active', now).where(
    'client_id',
    '=',
    sql.ref<string>('oauth_clients.id'),
  )
  const clients = db
    .selectFrom('oauth_clients')
    .select('id')
    .where('account_id', 'is', null)
    .where(({ and, eb, or, ref }) =>
      or([
        eb('last_used_at', '<=', idle),
        and([eb('last_used_at', '<=', unused), eb('last_used_at', '=', ref('created_at'))]),
      ]),
    )
    .where(({ exists, not }) => not(exists(keysOfIt)))
    .limit(limits.oauthSweepRowsMax)
  const { numDeletedRows } = await db
    .deleteFrom('oauth_clients')
    .where('id', 'in', clients)
    .executeTakeFirst()
  return Number(numDeletedRows)
}
