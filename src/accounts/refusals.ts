import { sql, type Kysely } from 'kysely'
import type { components } from '../../generated/types.ts'
import type { Caller } from '../core/caller.ts'
import type { GatewayError } from '../core/error.ts'
import { ProviderFailure } from '../core/failure.ts'
import { remedyFor } from '../core/words/remedies.ts'
import { listed } from '../storage/sql-dialect.ts'
import type { Tables } from '../storage/tables.ts'
import type { BatchOptions } from './connection-log.ts'
import { timeText } from './key-form.ts'
import { sweepAgain } from './sweep.ts'
import { dayMs, hourMs, timeRange } from './usage/range.ts'
import { rangeText } from './usage/report.ts'

type Schemas = components['schemas']

/** The requested refusals; the texts are the contract's parameters, unparsed. */
type RefusalsRequest = {
  caller: Pick<Caller, 'accountId' | 'isOperator'>
  mode: Schemas['Mode']
  from?: string | undefined
  to?: string | undefined
  keyId?: string | undefined
}

type Counted = Pick<Caller, 'accountId' | 'keyId' | 'person'>

/** Refused calls without a ledger row: counted in memory and written in batches. */
export type Refusals = ReturnType<typeof createRefusals>

const rowsPerStatement = 50
const listedMax = 100
/** A day of 200 keys with one cause each. Above this number, the account's own oldest rows are removed. */
const rowsPerAccountMax = 5000
/** The codes counted without an account; other such requests are mostly network scans. */
const codesWithoutAccount: ReadonlySet<string> = new Set(['invalid_api_key', 'invalid_token'])

type Options = BatchOptions & { limits: { refusalDays: number } }

export function createRefusals({ store: { db }, clock, limits, onWritten }: Options) {
  const { connectionLogWaitingMax: waitingMax, keyUseWriteMs, refusalDays } = limits
  let waiting = new Map<string, Tables['refusals']>()
  const write = async (): Promise<boolean> => {
    if (waiting.size === 0) return false
    // Sorted, so that several processes lock the rows in the same order.
    const rows = [...waiting].toSorted(([one], [other]) => (one < other ? -1 : 1))
    waiting = new Map()
    for (let at = 0; at < rows.length; at += rowsPerStatement) {
      await add(
        db,
        rows.slice(at, at + rowsPerStatement).map(([, row]) => row),
      )
    }
    await db
      .deleteFrom('refusals')
      .where('hour_at', '<', clock() - refusalDays * dayMs)
      .execute()
    const ids = new Set(rows.map(([, row]) => row.account_id))
    for (const id of ids) await removeExcess(db, id)
    return true
  }
  const { look, close } = sweepAgain(write, { intervalMs: keyUseWriteMs, onSwept: onWritten })
  return {
    /** Counts an error response; `caller` is undefined for a request without a valid key. */
    count: (error: GatewayError, caller: Counted | undefined) => {
      const whose = error.concerns ?? caller
      // Signed-in people see their errors on the gateway's own pages.
      if (caller?.person !== undefined || !isRefusal(error, whose)) return
      const { accountId = '', keyId = '' } = whose ?? {}
      const now = clock()
      const hour = now - (now % hourMs)
      const name = `${accountId} ${hour} ${keyId} ${error.code}`
      const budget_owner_id = error.progress.budget?.owner_id ?? null
      const pending = waiting.get(name)
      if (pending !== undefined) {
        pending.calls++
        Object.assign(pending, { last_at: now, budget_owner_id })
      } else if (waiting.size < waitingMax) {
        const place = { account_id: accountId, hour_at: hour, key_id: keyId }
        const { code: error_code } = error
        waiting.set(name, { ...place, error_code, calls: 1, last_at: now, budget_owner_id })
      }
    },
    /** The counts of a range by key and cause, the most frequent first. Throws a GatewayError. */
    list: async (request: RefusalsRequest): Promise<Schemas['Refusals']> => {
      await look()
      const { accountId } = request.caller
      const period = timeRange(request, clock())
      const from = period.from - (period.from % hourMs)
      const range = { from, to: Math.ceil(period.to / hourMs) * hourMs }
      const rows = await causes(db, request, range).execute()
      const own = rows.filter(({ kind }) => kind !== null)
      return {
        object: 'refusals',
        account_id: accountId,
        mode: request.mode,
        ...rangeText(range),
        calls: own.reduce((sum, { calls }) => sum + calls, 0),
        data: rows.slice(0, listedMax).map(refusalForm),
        has_more: rows.length > listedMax,
      }
    },
    /** Writes pending counts and stops the timer. */
    close: async () => {
      await look()
      close()
    },
  }
}

/** Whether an error has no ledger row, and its caller or an operator can fix the cause. */
function isRefusal({ code, status, cause, progress }: GatewayError, caller: object | undefined) {
  if (caller === undefined) return codesWithoutAccount.has(code)
  // A call that waited for an identical call also has a ledger row when the identical call fails.
  const hasRow = (progress.attempts ?? []).length > 0 || cause instanceof ProviderFailure
  return !hasRow && (status < 500 || code === 'no_provider_configured')
}

async function add(db: Kysely<Tables>, rows: Tables['refusals'][]): Promise<void> {
  await db
    .insertInto('refusals')
    .values(rows)
    .onConflict((one) =>
      one.columns(['account_id', 'hour_at', 'key_id', 'error_code']).doUpdateSet({
        calls: sql<number>`refusals.calls + excluded.calls`,
        budget_owner_id: sql<string | null>`excluded.budget_owner_id`,
        last_at: sql<number>`case when refusals.last_at > excluded.last_at
          then refusals.last_at else excluded.last_at end`,
      }),
    )
    .execute()
}

/** Removes the oldest hours of an account that has too many rows. */
async function removeExcess(db: Kysely<Tables>, accountId: string): Promise<void> {
  const rows = db.selectFrom('refusals').where('account_id', '=', accountId)
  const last = await rows
    .select('hour_at')
    .orderBy('hour_at', 'desc')
    .limit(1)
    .offset(rowsPerAccountMax)
    .executeTakeFirst()
  if (last === undefined) return
  const old = db.deleteFrom('refusals').where('account_id', '=', accountId)
  await old.where('hour_at', '<=', last.hour_at).execute()
}

function causes(
  db: Kysely<Tables>,
  { caller: { accountId, isOperator }, mode, keyId }: RefusalsRequest,
  { from, to }: { from: number; to: number },
) {
  const accounts = isOperator && keyId === undefined ? [accountId, ''] : [accountId]
  const rows = db
    .selectFrom('refusals')
    .leftJoin('api_keys', 'api_keys.id', 'refusals.key_id')
    .where('refusals.account_id', 'in', listed(db, accounts))
    .where('hour_at', '>=', from)
    .where('hour_at', '<', to)
    .where((is) => is.or([is('mode', '=', mode), is('key_id', '=', '')]))
  return (keyId === undefined ? rows : rows.where('key_id', '=', keyId))
    .select(({ fn }) => [
      'key_id',
      'name',
      'kind',
      'error_code',
      fn.sum<number>('calls').as('calls'),
      fn.max('refusals.last_at').as('last_at'),
    ])
    .groupBy(['key_id', 'name', 'kind', 'error_code'])
    .orderBy('calls', 'desc')
    .orderBy('last_at', 'desc')
    .orderBy('key_id')
}

type Cause = Awaited<ReturnType<ReturnType<typeof causes>['execute']>>[number]

function refusalForm(row: Cause): Schemas['Refusal'] {
  const { key_id: id, name, kind, error_code } = row
  return {
    object: 'refusal',
    key: name === null || kind === null ? null : { id, name, kind },
    error_code,
    remedy: remedyFor(error_code),
    calls: row.calls,
    last_at: timeText(row.last_at),
  }
}
