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
import { dayMs, hourMs } from './usage/range.ts'

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

type Filter = {
  accountId: string
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

/** The log of administrative changes. Events are never changed. */
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
    list: (filter: Filter, page: PageRequest) =>
      listPage(select(db, filter), page, { time: 'at', toItem: toEvent }),
  }
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

function select(db: Kysely<Tables>, { accountId, action, target, by }: Filter) {
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
    target_name: row.target_name,
    before: valuesIn(row.before),
    after: valuesIn(row.after),
  }
}

function valuesIn(text: string | null): Schemas['AuditValues'] {
  // `write` stores an object or null in this column.
  return text === null ? null : (JSON.parse(text) as Record<string, unknown>)
}
