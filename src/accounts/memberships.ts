import type { Kysely } from 'kysely'
import type { Caller, PersonCaller, Role, SignedInPerson } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import { listed } from '../storage/sql-dialect.ts'
import type { AccountsTable, MemberLimits, Tables } from '../storage/tables.ts'
import { allowanceOf, noAllowance } from './allowance.ts'
import { limitNames, unlimitedMember } from './member-limits.ts'
import { scopesOf } from './role.ts'

export type Membership = {
  account: AccountsTable
  role: Role
  joinedAt: number
  limits: MemberLimits
}

/** The accounts of a person in the order of joining. */
export async function membershipsOf(db: Kysely<Tables>, personId: string): Promise<Membership[]> {
  const rows = await memberships(db).where('members.person_id', '=', personId).execute()
  return rows.map(toMembership)
}

/** The memberships of several people, by person id. */
export async function membershipsByPerson(
  db: Kysely<Tables>,
  personIds: readonly string[],
): Promise<Map<string, Membership[]>> {
  const rows = await memberships(db)
    .select('members.person_id')
    .where('members.person_id', 'in', listed(db, personIds))
    .execute()
  const grouped = Map.groupBy(rows, (row) => row.person_id)
  return new Map([...grouped].map(([id, own]) => [id, own.map(toMembership)]))
}

function memberships(db: Kysely<Tables>) {
  return db
    .selectFrom('members')
    .innerJoin('accounts', 'accounts.id', 'members.account_id')
    .selectAll('accounts')
    .select(['members.role', 'members.joined_at'])
    .select(limitNames.map((name) => `members.${name} as member_${name}` as const))
    .$castTo<MembershipRow>()
    .orderBy('members.joined_at')
    .orderBy('members.account_id')
}

type MemberColumns = { [Name in keyof MemberLimits as `member_${Name}`]: MemberLimits[Name] }
type MembershipRow = AccountsTable & { role: Role; joined_at: number } & MemberColumns

function toMembership({ role, joined_at: joinedAt, ...row }: MembershipRow): Membership {
  const limits = Object.fromEntries(limitNames.map((name) => [name, row[`member_${name}`]]))
  // The names are those of the type.
  return { account: row, role, joinedAt, limits: limits as MemberLimits }
}

/** The caller for a signed-in person, acting for the account that they joined first. */
export function actingFor(
  person: Omit<SignedInPerson, 'role'>,
  own: readonly Membership[],
): PersonCaller {
  const [first] = own as [Membership]
  const isOperator = own.some(isOperating)
  const { account } = first
  return callerOf(person, {
    account,
    role: actingRole(first, isOperator),
    isOperator,
    limits: first.limits,
  })
}

/** The caller, acting for another account as a member or an operator. Throws `not_found`. */
export async function accountToActFor(
  db: Kysely<Tables>,
  caller: PersonCaller,
  accountId: string,
): Promise<Caller> {
  if (accountId === caller.accountId) return caller
  const { person, isOperator } = caller
  const own = (await membershipsOf(db, person.id)).find(({ account }) => account.id === accountId)
  if (own !== undefined) {
    const { account, limits } = own
    return callerOf(person, { account, role: actingRole(own, isOperator), isOperator, limits })
  }
  const account = isOperator
    ? await db.selectFrom('accounts').selectAll().where('id', '=', accountId).executeTakeFirst()
    : undefined
  if (account !== undefined) return callerOf(person, { account, role: 'owner', isOperator })
  const text = 'There is no such account. GET /api/me lists yours.'
  throw new GatewayError('not_found', text, { param: 'account_id' })
}

/** The role that a person currently acts in for an account; undefined if they have no access. */
export async function roleIn(
  db: Kysely<Tables>,
  personId: string,
  accountId: string,
): Promise<Role | undefined> {
  const all = await membershipsOf(db, personId)
  const isOperator = all.some(isOperating)
  const own = all.find(({ account }) => account.id === accountId)
  if (own !== undefined) return actingRole(own, isOperator)
  return isOperator ? 'owner' : undefined
}

/** The role that a person acts in for an account: operators act as owners, except in the first account. */
export function actingRole({ account, role }: Membership, isOperator: boolean): Role {
  return isOperator && account.is_operator === 0 ? 'owner' : role
}

/** Whether a membership makes a person an operator of the gateway. */
export function isOperating({ account, role }: Membership): boolean {
  return account.is_operator === 1 && role !== 'member'
}

type Acting = { account: AccountsTable; role: Role; isOperator: boolean; limits?: MemberLimits }

function callerOf(
  { id, sessionId, csrfToken }: Omit<SignedInPerson, 'role'>,
  { account, role, isOperator, limits = unlimitedMember }: Acting,
): PersonCaller {
  return {
    accountId: account.id,
    keyId: sessionId,
    mode: 'live',
    models: null,
    networks: null,
    // A member with bounds makes keys within them.
    scopes: limits.key_bounds === null ? scopesOf(role) : [...scopesOf(role), 'keys:write'],
    allowances: [allowanceOf(account), allowanceOf({ id: sessionId, ...noAllowance })],
    isOperator,
    person: { id, sessionId, role, csrfToken },
  }
}
