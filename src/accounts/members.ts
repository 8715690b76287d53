import type { Kysely, Transaction } from 'kysely'
import type { components } from '../../generated/types.ts'
import type { Actor, Caller, PersonCaller, Role } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import type { PageRequest } from '../core/page.ts'
import type { Tables } from '../storage/tables.ts'
import type { ChangeParts } from './audit.ts'
import { timeText } from './key-form.ts'
import { listPage } from './list-page.ts'
import { membershipsOf } from './memberships.ts'
import { endConnectionsOf } from './oauth/connection-changes.ts'
import { endPasswordLinks, passwordLinkRefusals } from './password-links.ts'
import { assertMayChange } from './role.ts'
import { endSessionKeysIn } from './session-keys.ts'
import { endOtherSessions } from './sessions.ts'

type Member = components['schemas']['Member']
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
      return { ...found, data: await toMembers(db, caller, found.data) }
    },
    /** Throws `not_found`, `last_owner`, `insufficient_scope` for a role that the caller may not change. */
    changeRole: (caller: Caller, personId: string, { role, actor }: { role: Role; actor: Actor }) =>
      db.transaction().execute(async (transaction) => {
        const row = await find(transaction, caller.accountId, personId)
        if (role === row.role) return toMember(transaction, caller, row)
        assertMayChange(caller, row.role, role)
        if (row.role === 'owner') await assertOtherOwner(transaction, row)
        await setRole(transaction, row, { role, actor, audit, now: clock() })
        return toMember(transaction, caller, { ...row, role })
      }),
    /** Ends a person's access to the account at once. Throws the errors of `changeRole`. */
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

type NewMember = { accountId: string; personId: string; role: Role; now: number }

/** Makes a person a member of an account. Throws `already_member`. */
export async function addMember(
  transaction: Transaction<Tables>,
  { accountId, personId, role, now }: NewMember,
): Promise<void> {
  const { numInsertedOrUpdatedRows } = await transaction
    .insertInto('members')
    .values({ account_id: accountId, person_id: personId, role, joined_at: now })
    .onConflict((one) => one.columns(['account_id', 'person_id']).doNothing())
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows === 0n) throw alreadyMember()
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
  await setRole(transaction, row, { role, actor, audit, now })
}

type NewRole = Pick<Granted, 'role' | 'actor' | 'audit' | 'now'>

async function setRole(
  transaction: Transaction<Tables>,
  { account_id: accountId, id: personId, role: before }: MemberRow,
  { role, actor, audit, now }: NewRole,
): Promise<void> {
  await transaction
    .updateTable('members')
    .set({ role })
    .where('account_id', '=', accountId)
    .where('person_id', '=', personId)
    .execute()
  await endPasswordLinks(transaction, personId, now)
  const act = { account_id: accountId, action: 'member.update', target: personId } as const
  await audit.write(transaction, actor, { ...act, before: { role: before }, after: { role } })
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
    .select(['members.account_id', 'members.role', 'members.joined_at'])
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
): Promise<Member[]> {
  const ids = rows.map(({ id }) => id)
  const refusalOf = await passwordLinkRefusals(db, caller, ids)
  return rows.map(({ joined_at: joinedAt, ...row }) => ({
    ...row,
    object: 'member',
    joined_at: timeText(joinedAt),
    may_get_password_link: refusalOf(row.id) === undefined,
  }))
}

async function toMember(db: Kysely<Tables>, caller: Caller, row: MemberRow): Promise<Member> {
  return (await toMembers(db, caller, [row]))[0]!
}
