import { hash } from 'node:crypto'
import { sql, type Kysely, type Transaction } from 'kysely'
import type { components } from '../../generated/types.ts'
import type { Actor, Administrator } from '../core/caller.ts'
import { orderedId } from '../core/ordered-id.ts'
import type { PageRequest } from '../core/page.ts'
import type { Announce } from '../peers/announcement.ts'
import type { Store } from '../storage/store.ts'
import type { Tables } from '../storage/tables.ts'
import { listPage } from './list-page.ts'
import { removeRows, sweepAgain, takeTurn } from './sweep.ts'
import { dayMs, hourMs, type TimeRange } from './usage/range.ts'

type Schemas = components['schemas']
type AuditEvent = Schemas['AuditEvent']

/** The actor of commands on the gateway's machine, which may do everything. */
export const commandLine: Administrator = {
  id: 'command_line',
  address: null,
  accountId: '',
  scopes: ['admin'],
  isOperator: true,
}

/** The actor of changes that a signal to the process causes. */
export const signalActor: Actor = { id: 'signal', address: null }

/** One change. The values before and after contain no secret. */
type Act = Pick<AuditEvent, 'account_id' | 'action' | 'target'> & {
  before?: object
  after?: object
}

export type AuditFilter = {
  accountId: string
  range?: TimeRange
  action?: string | undefined
  target?: string | undefined
  by?: string | undefined
}

type NamedRow = Tables['audit_events'] & { by_name: string | null; target_name: string | null }

/** The parts that change accounts, people and keys. */
export type ChangeParts = {
  store: Pick<Store, 'db'>
  audit: Pick<Audit, 'write'>
  /** Reports a change to all processes. */
  announce: Announce
  clock: () => number
}

export type Audit = ReturnType<typeof createAudit>

/** A sign-in that failed; without a person if no person has the e-mail. */
export type FailedSignIn = { personId: string | undefined; address: string | null }

/** Events of failed sign-ins of an account in an hour; the others are counted in one event. */
const failedSignInsPerHourMax = 50

/** The log of administrative changes. An event is not changed, except the count of failed sign-ins in this hour. */
export function createAudit({ db }: Pick<Store, 'db'>, clock: () => number) {
  return {
    /** Records a change in the transaction that makes it, so that both are committed or neither. */
    write: async (
      transaction: Transaction<Tables>,
      by: Actor,
      { account_id, action, target, before, after }: Act,
    ) => {
      const at = clock()
      const row: Tables['audit_events'] = {
        id: orderedId('adt', at),
        at,
        account_id,
        action,
        by: by.id,
        address: by.address,
        target,
        before: before === undefined ? null : JSON.stringify(before),
        after: after === undefined ? null : JSON.stringify(after),
      }
      await transaction.insertInto('audit_events').values(row).execute()
    },
    /** Counts a failed sign-in in the event of its person, address and hour. */
    countFailedSignIn: (failed: FailedSignIn) =>
      db.transaction().execute((transaction) => countFailedSignIn(transaction, failed, clock())),
    list: (filter: AuditFilter, page: PageRequest) => auditPage(db, filter, page),
  }
}

/** One page of audit events. */
export function auditPage(db: Kysely<Tables>, filter: AuditFilter, page: PageRequest) {
  return listPage(select(db, filter), page, { time: 'at', toItem: toEvent })
}

async function countFailedSignIn(
  transaction: Transaction<Tables>,
  { personId, address }: FailedSignIn,
  now: number,
): Promise<void> {
  // One statement for known and unknown people, so that the time does not reveal who exists.
  const { account_id } = await transaction
    .selectFrom('accounts')
    .leftJoin('members', (join) =>
      join.onRef('account_id', '=', 'accounts.id').on('person_id', '=', personId ?? ''),
    )
    .select('accounts.id as account_id')
    .where(({ or, eb }) => or([eb('person_id', 'is not', null), eb('is_operator', '=', 1)]))
    .orderBy(sql`case when person_id is null then 1 else 0 end`)
    .orderBy('joined_at')
    .limit(1)
    .executeTakeFirstOrThrow()
  const hour = now - (now % hourMs)
  const action = 'session.refuse'
  const target = personId ?? 'unknown'
  const own = { id: failureId(hour, [account_id, target, address]), target, address }
  const counted = await transaction
    .selectFrom('audit_events')
    .select('id')
    .where('account_id', '=', account_id)
    .where('at', '>=', hour)
    .where('action', '=', action)
    .execute()
  const isOver =
    counted.length >= failedSignInsPerHourMax && counted.every(({ id }) => id !== own.id)
  const rest = { id: failureId(hour, [account_id]), target: 'unknown', address: null }
  const event = { ...(isOver ? rest : own), account_id, at: now, action, by: 'unknown' }
  const { id, after } = await transaction
    .insertInto('audit_events')
    .values({ ...event, before: null, after: JSON.stringify({ times: 0 }) })
    // Locks the row of an earlier failure, so that no other process counts at the same time.
    .onConflict((one) => one.column('id').doUpdateSet({ action }))
    .returning(['id', 'after'])
    .executeTakeFirstOrThrow()
  const { times } = valuesIn(after) as { times: number }
  const next = { times: times + 1, last_at: new Date(now).toISOString() }
  const changed = transaction.updateTable('audit_events').set({ after: JSON.stringify(next) })
  await changed.where('id', '=', id).execute()
}

/** The id of an event of failed sign-ins: like `orderedId`, but the same for the same hour and parts. */
function failureId(hour: number, parts: readonly (string | null)[]): string {
  const time = hour.toString(16).padStart(12, '0')
  return `adt_${time}${hash('sha256', JSON.stringify(parts), 'hex').slice(0, 20)}`
}

type AuditSweep = {
  store: Pick<Store, 'db'>
  clock: () => number
  limits: { auditEventDays: number }
  onSwept: (error?: unknown) => void
}

/** Removes events that are older than `audit_event_days`, every hour; none without the setting. */
export function sweepAudit({ store: { db }, clock, limits, onSwept }: AuditSweep) {
  const { auditEventDays: days } = limits
  const work = async () => {
    const now = clock()
    if (days === 0 || !(await takeTurn(db, 'audit_events', now, hourMs))) return false
    await removeRows(db, 'audit_events', sql`at < ${now - days * dayMs}`)
    return true
  }
  return sweepAgain(work, { intervalMs: hourMs, onSwept })
}

/** The members that differ between two versions of the same settings; undefined for equal versions. */
export function changedValues<Settings extends object>(
  old: Settings,
  now: Settings,
): { before: Partial<Settings>; after: Partial<Settings> } | undefined {
  // Object.keys returns strings; `now` has the members of `Settings` only.
  const names = Object.keys(now) as (keyof Settings)[]
  const changed = names.filter((name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]))
  if (changed.length === 0) return undefined
  const before: Partial<Settings> = {}
  const after: Partial<Settings> = {}
  for (const name of changed) {
    before[name] = old[name]
    after[name] = now[name]
  }
  return { before, after }
}

function select(db: Kysely<Tables>, { accountId, range, action, target, by }: AuditFilter) {
  let rows = db
    .selectFrom('audit_events')
    .selectAll('audit_events')
    .select(({ fn }) => [
      fn.coalesce(nameOf('people', 'by'), nameOf('api_keys', 'by')).as('by_name'),
      fn
        .coalesce(
          nameOf('api_keys', 'target'),
          nameOf('people', 'target'),
          nameOf('accounts', 'target'),
          nameOf('webhooks', 'target'),
        )
        .as('target_name'),
    ])
    .where('account_id', '=', accountId)
  if (range !== undefined) rows = rows.where('at', '>=', range.from).where('at', '<', range.to)
  if (action !== undefined) rows = rows.where('action', '=', action)
  if (target !== undefined) rows = rows.where('target', '=', target)
  if (by !== undefined) rows = rows.where('by', '=', by)
  return rows
}

/** The name of the row whose id the column holds; null without such a row. */
function nameOf(table: 'people' | 'api_keys' | 'accounts' | 'webhooks', column: 'by' | 'target') {
  const id = sql.ref(`audit_events.${column}`)
  return sql<string | null>`(select name from ${sql.table(table)} as named where named.id = ${id})`
}

function toEvent(row: NamedRow): AuditEvent {
  const [before, after] = [valuesIn(row.before), valuesIn(row.after)]
  return {
    id: row.id,
    object: 'audit_event',
    at: new Date(row.at).toISOString(),
    account_id: row.account_id,
    // Only `write` writes this column, with values of this type.
    action: row.action as AuditEvent['action'],
    by: row.by,
    by_name: row.by_name,
    address: row.address,
    target: row.target,
    target_name: row.target_name ?? providerKeyName(after ?? before),
    before,
    after,
  }
}

/** The provider and the hints of its keys, in the values of an event about them. */
function providerKeyName(values: Schemas['AuditValues']): string | null {
  const { provider, keys } = values ?? {}
  return typeof provider === 'string' && Array.isArray(keys)
    ? `${provider} ${keys.join(', ')}`
    : null
}

function valuesIn(text: string | null): Schemas['AuditValues'] {
  // `write` stores an object or null in this column.
  return text === null ? null : (JSON.parse(text) as Record<string, unknown>)
}
