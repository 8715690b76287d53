import type { Kysely, Transaction } from 'kysely'
import type { components } from '../../generated/types.ts'
import type { Actor, Caller, PersonCaller, Role } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import type { PageRequest } from '../core/page.ts'
import { insertNew } from '../storage/insert-new.ts'
import type { MemberLimits, Tables } from '../storage/tables.ts'
import { isLimited } from './allowance.ts'
import { changedValues, type ChangeParts } from './audit.ts'
import { timeText } from './key-form.ts'
import type { ModelIds } from './key-settings.ts'
import { revokeKeysOf } from './keys.ts'
import { listPage } from './list-page.ts'
import { memberBudgets, memberColumns, memberSettings, unlimitedMember } from './member-limits.ts'
import { membershipsOf } from './memberships.ts'
import { endConnectionsOf } from './oauth/connection-changes.ts'
import { endPasswordLinks, passwordLinkRefusals } from './password-links.ts'
import { assertMayChange } from './role.ts'
import { endSessionKeysIn } from './session-keys.ts'
import { endOtherSessions } from './sessions.ts'

type Member = components['schemas']['Member']
type MemberChange = components['schemas']['MemberChange']
type Options = ChangeParts

export type Members = ReturnType<typeof createMembers>

/** The members of an account, for its administrators and for the members themselves. */
export function createMembers(options: Options) {
  const { db } = options.store
  const { audit, announce, clock } = options
  // Removal ends the person's connections to the account, and removal from the last one the sessions.
  const announceRemoval = (accountId: string) => {
    announce({ kind: 'account_changed', accountId })
    announce({ kind: 'sessions_changed' })
  }
  return {
    list: async (caller: Caller, page: PageRequest) => {
      const rows = members(db, caller.accountId)
      const found = await listPage(rows, page, { time: 'joined_at', toItem: (row) => row })
      return { ...found, data: await toMembers(db, caller, found.data, clock()) }
    },
    /**
     * Changes the role and the limits. Throws `not_found`, `last_owner`, `insufficient_scope` for a role or limits that
     * the caller may not change, and `invalid_value` for a model.
     */
    update: async (
      caller: Caller,
      personId: string,
      { change, actor, modelIds }: { change: MemberChange; actor: Actor; modelIds: ModelIds },
    ) => {
      const columns = memberColumns(change, modelIds)
      const member = await db.transaction().execute(async (transaction) => {
        const row = await find(transaction, caller.accountId, personId)
        const { role = row.role } = change
        if (role !== row.role) assertMayChange(caller, row.role, role)
        if (role !== row.role && row.role === 'owner') await assertOtherOwner(transaction, row)
        if (Object.keys(columns).length > 0) assertMayLimit(caller, row)
        const set = { ...columns, role }
        await setMember(transaction, row, { set, actor, audit, now: clock() })
        return (await toMembers(transaction, caller, [{ ...row, ...set }], clock()))[0]!
      })
      // Callers have the limits of the person who made their key.
      announce({ kind: 'account_changed', accountId: caller.accountId })
      return member
    },
    /** Ends a person's access to the account at once. Throws the errors of `update`. */
    remove: async (caller: Caller, personId: string, actor: Actor) => {
      await db.transaction().execute(async (transaction) => {
        const row = await find(transaction, caller.accountId, personId)
        assertMayChange(caller, row.role)
        await remove(transaction, row, actor, options)
      })
      announceRemoval(caller.accountId)
    },
    /** Ends a person's own membership, whatever their role. Throws `not_found`, `last_owner`. */
    leave: async ({ person }: PersonCaller, accountId: string, actor: Actor) => {
      await db.transaction().execute(async (transaction) => {
        const row = await findMember(transaction, accountId, person.id)
        if (row === undefined) {
          const text =
            'You are not a member of an account with this id. GET /api/me lists your accounts.'
          throw new GatewayError('not_found', text, { param: 'id' })
        }
        await remove(transaction, row, actor, options)
      })
      announceRemoval(accountId)
    },
  }
}

type NewMember = {
  accountId: string
  personId: string
  role: Role
  now: number
  /** None if absent. */
  limits?: MemberLimits
}

/** Makes a person a member of an account. Throws `already_member`. */
export async function addMember(
  transaction: Transaction<Tables>,
  { accountId, personId, role, now, limits = unlimitedMember }: NewMember,
): Promise<void> {
  const row = { account_id: accountId, person_id: personId, role, joined_at: now, ...limits }
  if (!(await insertNew(transaction, 'members', row))) throw alreadyMember()
  await endPasswordLinks(transaction, personId, now)
}

/** The error for adding a person who is already a member. */
export function alreadyMember(): GatewayError {
  const text =
    'This person is already a member of the account. PATCH /api/members/{id} changes the role.'
  return new GatewayError('already_member', text)
}

type Granted = NewMember & { actor: Actor; audit: Options['audit'] }

/** Gives a person a role in an account as a member, new or not; the last owner stays an owner. */
export async function grantRole(
  transaction: Transaction<Tables>,
  { accountId, personId, role, actor, audit, now }: Granted,
): Promise<void> {
  const row = await findMember(transaction, accountId, personId)
  if (row === undefined) {
    await addMember(transaction, { accountId, personId, role, now })
    const act = { account_id: accountId, action: 'member.create', target: personId } as const
    return audit.write(transaction, actor, { ...act, after: { role } })
  }
  if (role === row.role) return
  if (row.role === 'owner' && !(await hasOtherOwner(transaction, row))) return
  await setMember(transaction, row, { set: { role }, actor, audit, now })
}

type Setting = Pick<Granted, 'actor' | 'audit' | 'now'> & {
  set: Partial<MemberLimits> & { role: Role }
}

async function setMember(
  transaction: Transaction<Tables>,
  row: MemberRow,
  { set, actor, audit, now }: Setting,
): Promise<void> {
  const { account_id: accountId, id: personId } = row
  const values = changedValues(settingsOf(row), settingsOf({ ...row, ...set }))
  if (values === undefined) return
  await transaction
    .updateTable('members')
    .set(set)
    .where('account_id', '=', accountId)
    .where('person_id', '=', personId)
    .execute()
  if (set.role !== row.role) await endPasswordLinks(transaction, personId, now)
  const act = { account_id: accountId, action: 'member.update', target: personId } as const
  await audit.write(transaction, actor, { ...act, ...values })
}

function settingsOf(row: MemberLimits & { role: Role }) {
  return { role: row.role, ...memberSettings(row) }
}

/** Throws `insufficient_scope` for limits of an owner, and for the caller's own limits, unless an owner changes them. */
function assertMayLimit(caller: Caller, { id, role }: Pick<MemberRow, 'id' | 'role'>): void {
  assertMayChange(caller, role)
  if (role === 'owner' || (caller.person?.id ?? caller.creatorId) !== id) return
  const text = 'You may not change your own limits in this account. Ask another administrator.'
  throw new GatewayError('insufficient_scope', text)
}

type MemberRow = Awaited<ReturnType<typeof find>>

/** Removes a member, with their connections, keys and links. Throws `last_owner`. */
async function remove(
  transaction: Transaction<Tables>,
  row: MemberRow,
  actor: Actor,
  { audit, clock }: Options,
): Promise<void> {
  if (row.role === 'owner') await assertOtherOwner(transaction, row)
  const { account_id: accountId, id: personId, email, role } = row
  await transaction
    .deleteFrom('members')
    .where('account_id', '=', accountId)
    .where('person_id', '=', personId)
    .execute()
  const now = clock()
  await endConnectionsOf(transaction, { personId, accountId }, { by: actor, audit, now })
  // Their keys would go on without the limits, also those of a person who leaves.
  if (isLimited(row) || row.sandbox_only === 1)
    await revokeKeysOf(transaction, { personId, accountId }, { by: actor, audit, now })
  await endSessionKeysIn(transaction, { personId, accountId }, now)
  await endPasswordLinks(transaction, personId, now)
  const left = await membershipsOf(transaction, personId)
  if (left.length === 0) await endOtherSessions(transaction, personId, { keptId: null, now })
  const act = { account_id: accountId, action: 'member.delete', target: personId } as const
  await audit.write(transaction, actor, { ...act, before: { email, role } })
}

function members(db: Kysely<Tables>, accountId: string) {
  return db
    .selectFrom('members')
    .innerJoin('people', 'people.id', 'members.person_id')
    .select(['people.id', 'people.email', 'people.name'])
    .selectAll('members')
    .where('members.account_id', '=', accountId)
}

function findMember(db: Kysely<Tables>, accountId: string, personId: string) {
  return members(db, accountId).where('members.person_id', '=', personId).executeTakeFirst()
}

async function find(db: Kysely<Tables>, accountId: string, personId: string) {
  const row = await findMember(db, accountId, personId)
  if (row !== undefined) return row
  const text = 'The account has no such member. GET /api/members lists them.'
  throw new GatewayError('not_found', text, { param: 'id' })
}

async function assertOtherOwner(transaction: Transaction<Tables>, row: MemberRow): Promise<void> {
  if (await hasOtherOwner(transaction, row)) return
  const text = 'This is the last owner of the account. Make another member an owner first.'
  throw new GatewayError('last_owner', text)
}

/** Reads the other owners in the transaction of the change: of two owners who leave at once, one stays. */
async function hasOtherOwner(
  transaction: Transaction<Tables>,
  { account_id: accountId, id }: MemberRow,
): Promise<boolean> {
  const other = await transaction
    .selectFrom('members')
    .select('person_id')
    .where('account_id', '=', accountId)
    .where('role', '=', 'owner')
    .where('person_id', '!=', id)
    .limit(1)
    .executeTakeFirst()
  return other !== undefined
}

async function toMembers(
  db: Kysely<Tables>,
  caller: Caller,
  rows: readonly MemberRow[],
  now: number,
): Promise<Member[]> {
  const ids = rows.map(({ id }) => id)
  const refusalOf = await passwordLinkRefusals(db, caller, ids)
  const budgets = await memberBudgets(db, rows, now)
  return rows.map((row, index) => ({
    id: row.id,
    object: 'member',
    account_id: row.account_id,
    email: row.email,
    name: row.name,
    ...settingsOf(row),
    budget: budgets[index] ?? null,
    joined_at: timeText(row.joined_at),
    may_get_password_link: refusalOf(row.id) === undefined,
  }))
}
