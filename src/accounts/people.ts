import type { Kysely, Transaction } from 'kysely'
import type { components } from '../../generated/types.ts'
import type { Actor, PersonCaller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import { insertNew } from '../storage/insert-new.ts'
import type { Tables } from '../storage/tables.ts'
import type { ChangeParts } from './audit.ts'
import { newId } from './id.ts'
import { memberBudgets, memberSettings } from './member-limits.ts'
import { actingRole, isOperating, membershipsOf, type Membership } from './memberships.ts'
import { endPasswordLinks } from './password-links.ts'
import { assertStrong, type Passwords } from './password.ts'
import { endOtherSessions } from './sessions.ts'

type Person = components['schemas']['Person']

export type NewPerson = { email: string; name: string; password: string }

type Options = ChangeParts & {
  passwords: Passwords
  /** Slows down attempts to guess the current password with a stolen session. */
  attempts: { begin(attempt: { origin: string; email: string }): Promise<() => void> }
}

export type People = ReturnType<typeof createPeople>

/** The people who sign in, and their own settings. */
export function createPeople(options: Options) {
  const { audit, announce, passwords, attempts, clock } = options
  const { db } = options.store
  const find = (id: string) =>
    db.selectFrom('people').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  /** Checks the password of a person with a session; returns the e-mail. Throws `invalid_credentials`. */
  const assertPassword = async (id: string, password: string): Promise<string> => {
    const { email, password_hash: stored } = await find(id)
    const succeeded = await attempts.begin({ origin: id, email: id })
    if (!(await passwords.matches(password, stored))) {
      const text = "'current_password' is not your password."
      throw new GatewayError('invalid_credentials', text, { param: 'current_password' })
    }
    succeeded()
    return email
  }
  const retrieve = async (id: string) => {
    const [row, memberships] = await Promise.all([find(id), membershipsOf(db, id)])
    const owned = memberships.map(({ account, limits }) => {
      return { ...limits, account_id: account.id, person_id: id }
    })
    return toPerson(row, memberships, await memberBudgets(db, owned, clock()))
  }
  return {
    retrieve,
    assertPassword,
    rename: async ({ accountId, person: { id } }: PersonCaller, newName: string, actor: Actor) => {
      const name = newName.trim()
      await db.transaction().execute(async (transaction) => {
        const { name: before } = await transaction
          .selectFrom('people')
          .select('name')
          .where('id', '=', id)
          .executeTakeFirstOrThrow()
        await transaction.updateTable('people').set({ name }).where('id', '=', id).execute()
        const act = { account_id: accountId, action: 'person.update', target: id } as const
        await audit.write(transaction, actor, { ...act, before: { name: before }, after: { name } })
      })
      return retrieve(id)
    },
    /** Changes a password, and ends the other sessions. Throws `invalid_credentials`. */
    changePassword: async (
      { accountId, person }: PersonCaller,
      { current, next }: { current: string; next: string },
      actor: Actor,
    ) => {
      assertStrong(next, await assertPassword(person.id, current), 'new_password')
      const hash = await passwords.hash(next)
      await db.transaction().execute(async (transaction) => {
        await setPassword(transaction, {
          id: person.id,
          hash,
          keptSessionId: person.sessionId,
          now: clock(),
        })
        const act = { account_id: accountId, action: 'person.change_password' } as const
        await audit.write(transaction, actor, { ...act, target: person.id })
      })
      announce({ kind: 'sessions_changed' })
    },
  }
}

type NewPassword = { id: string; hash: string; keptSessionId: string | null; now: number }

/**
 * Sets a person's password, and ends their other sessions and open password links. Without a session, that is with a
 * link, it also removes the person's passkeys: an intruder who knew the old password may have added one.
 */
export async function setPassword(
  transaction: Transaction<Tables>,
  { id, hash, keptSessionId: keptId, now }: NewPassword,
): Promise<void> {
  await transaction
    .updateTable('people')
    .set({ password_hash: hash })
    .where('id', '=', id)
    .execute()
  if (keptId === null)
    await transaction.deleteFrom('passkeys').where('person_id', '=', id).execute()
  await endOtherSessions(transaction, id, { keptId, now })
  await endPasswordLinks(transaction, id, now)
}

/** The id of the person with an e-mail in the form of `plainEmail`. */
export async function findByEmail(db: Kysely<Tables>, email: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('people')
    .select('id')
    .where('email', '=', email)
    .executeTakeFirst()
  return row?.id
}

/** Adds a person, with the hash of their password. Throws `email_taken`. */
export async function insertPerson(
  transaction: Transaction<Tables>,
  { email, name, hash, now }: { email: string; name: string; hash: string; now: number },
): Promise<string> {
  const id = newId('usr')
  const row = { id, email, name: name.trim(), password_hash: hash, created_at: now }
  if (await insertNew(transaction, 'people', row)) return id
  const text = 'This e-mail is already registered. Sign in, or use another e-mail.'
  throw new GatewayError('email_taken', text, { param: 'email' })
}

function toPerson(
  row: Tables['people'],
  memberships: readonly Membership[],
  budgets: readonly Person['memberships'][number]['budget'][],
): Person {
  const isOperator = memberships.some(isOperating)
  return {
    id: row.id,
    object: 'person',
    email: row.email,
    name: row.name,
    created_at: new Date(row.created_at).toISOString(),
    is_operator: isOperator,
    memberships: memberships.map((one, index) => ({
      account_id: one.account.id,
      account_name: one.account.name,
      role: one.role,
      acts_as: actingRole(one, isOperator),
      joined_at: new Date(one.joinedAt).toISOString(),
      ...memberSettings(one.limits),
      budget: budgets[index] ?? null,
    })),
  }
}
