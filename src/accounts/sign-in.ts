import type { Transaction } from 'kysely'
import type { components } from '../../generated/types.ts'
import { GatewayError } from '../core/error.ts'
import type { Tables } from '../storage/tables.ts'
import type { ChangeParts, FailedSignIn } from './audit.ts'
import { membershipsOf } from './memberships.ts'
import { findPasswordLink, usePasswordLink } from './password-links.ts'
import { unlimitedMember } from './member-limits.ts'
import { assertStrong, plainEmail, type Passwords } from './password.ts'
import { findByEmail, insertPerson, setPassword, type NewPerson, type People } from './people.ts'
import { noMembershipError, type NewSession, type Sessions, type Visitor } from './sessions.ts'
import { assertSetUpLink, useSetUpLink } from './set-up-link.ts'

/** The origin of a request without a session; `origin` is the value that attempts are counted by. */
export type AnonymousClient = Visitor & { origin: string }

export type SignInResult = Pick<NewSession, 'token' | 'ageSeconds'> & {
  signedIn: components['schemas']['SignedIn']
}

/** Slows down attempts to guess passwords and links. */
type Attempts = {
  begin(attempt: { origin: string; email?: string; isKnown?: boolean }): Promise<() => void>
}

export type SignInOptions = ChangeParts & {
  passwords: Passwords
  people: Pick<People, 'retrieve'>
  sessions: Pick<Sessions, 'begin'>
  attempts: Attempts
  /** Called for each failed sign-in. */
  onFailure: (failed: FailedSignIn) => Promise<void>
  /** Throws `password_sign_in_closed`. */
  assertPasswordsOpen: () => Promise<void>
}

/** A new password with the token of a one-time link. */
type ByLink = { token: string; next: string }

export type SignIns = ReturnType<typeof createSignIns>

/** Sign-in, first set-up and password reset, for people without a session. */
export function createSignIns(options: SignInOptions) {
  const { store, audit, announce, passwords, people, attempts, clock } = options
  const { db } = store
  const resultOf = (personId: string, session: NewSession) =>
    signInResult(people, personId, session)
  return {
    /** Whether at least one person can sign in. */
    isSetUp: async () => {
      const member = db.selectFrom('members').select('person_id').limit(1)
      return (await member.executeTakeFirst()) !== undefined
    },
    /** Signs a person in. Throws `invalid_credentials`, `rate_limit_exceeded`, `password_sign_in_closed`. */
    signIn: async (credentials: { email: string; password: string }, from: AnonymousClient) => {
      await options.assertPasswordsOpen()
      const verified = await verifyPassword(options, credentials, from)
      const begun = await db.transaction().execute(async (transaction) => {
        await confirmPassword(transaction, verified)
        return beginSession(transaction, verified.id, { from, options })
      })
      return resultOf(verified.id, begun)
    },
    /** Makes an owner of the first account with a one-time link. Throws `invalid_value`. */
    setUp: async (
      { token, email: given, name, password }: NewPerson & { token: string },
      from: AnonymousClient,
    ) => {
      const email = plainEmail(given)
      const succeeded = await attempts.begin(from)
      await assertSetUpLink(db, token, clock())
      assertStrong(password, email, 'password')
      const hash = await passwords.hash(password)
      const [id, begun] = await db.transaction().execute(async (transaction) => {
        const now = clock()
        await useSetUpLink(transaction, token, now)
        const made = await makeOwner(transaction, { email, name, hash, now })
        const after = { email, name, role: 'owner' }
        const act = {
          account_id: made.accountId,
          action: 'person.set_up',
          target: made.id,
        } as const
        const actor = { id: made.id, address: from.address }
        await audit.write(transaction, actor, { ...act, after })
        return [made.id, await beginSession(transaction, made.id, { from, options })] as const
      })
      announce({ kind: 'sessions_changed' })
      succeeded()
      return resultOf(id, begun)
    },
    /** Sets a new password with a one-time link, and ends the person's sessions. Throws `invalid_value`. */
    resetPassword: (change: ByLink, from: AnonymousClient) => resetPassword(change, from, options),
  }
}

async function resetPassword(
  { token, next }: ByLink,
  from: AnonymousClient,
  options: SignInOptions,
): Promise<SignInResult> {
  const { store, audit, announce, passwords, people, attempts, clock } = options
  await options.assertPasswordsOpen()
  const succeeded = await attempts.begin({ origin: from.origin })
  const { email } = await findPasswordLink(store.db, token, clock())
  assertStrong(next, email, 'new_password')
  const hash = await passwords.hash(next)
  const [id, begun] = await store.db.transaction().execute(async (transaction) => {
    const now = clock()
    const personId = await usePasswordLink(transaction, token, now)
    await setPassword(transaction, { id: personId, hash, keptSessionId: null, now })
    const session = await beginSession(transaction, personId, { from, options })
    const [first] = await membershipsOf(transaction, personId)
    const act = { action: 'person.reset_password', target: personId } as const
    const actor = { id: personId, address: from.address }
    await audit.write(transaction, actor, { ...act, account_id: first!.account.id })
    return [personId, session] as const
  })
  announce({ kind: 'sessions_changed' })
  succeeded()
  return signInResult(people, id, begun)
}

/** A person whose password was checked: its stored hash, and the hash to store now. */
type Verified = { id: string; stored: string; hash: string }

/** Checks e-mail and password. Throws `invalid_credentials`, `rate_limit_exceeded`. */
export async function verifyPassword(
  options: SignInOptions,
  { email: given, password }: { email: string; password: string },
  from: AnonymousClient,
): Promise<Verified> {
  const { passwords, attempts, onFailure } = options
  const email = plainEmail(given)
  const found = await findPerson(options, email, from)
  const isKnown = found?.known_from === 1
  const succeeded = await attempts.begin({ origin: from.origin, email, isKnown })
  if (!(await passwords.matches(password, found?.password_hash)) || found === undefined) {
    await onFailure({ personId: found?.id, address: from.address })
    throw wrongCredentials()
  }
  succeeded()
  const { id, password_hash: stored } = found
  const hash = passwords.isOutdated(stored) ? await passwords.hash(password) : stored
  return { id, stored, hash }
}

/** Stores the new hash. Throws `invalid_credentials` if the password changed since `verifyPassword`. */
export async function confirmPassword(
  transaction: Transaction<Tables>,
  { id, stored, hash }: Verified,
): Promise<void> {
  const { numUpdatedRows } = await transaction
    .updateTable('people')
    .set({ password_hash: hash })
    .where('id', '=', id)
    .where('password_hash', '=', stored)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw wrongCredentials()
}

function wrongCredentials(): GatewayError {
  return new GatewayError('invalid_credentials', 'The e-mail or the password is wrong.')
}

/** The response to a successful sign-in. */
export async function signInResult(
  people: Pick<People, 'retrieve'>,
  personId: string,
  { token, ageSeconds, csrfToken, session }: NewSession,
): Promise<SignInResult> {
  const person = await people.retrieve(personId)
  const signedIn = { object: 'signed_in', csrf_token: csrfToken, session, person } as const
  return { token, ageSeconds, signedIn }
}

/** Finds a person by e-mail; `known_from` is 1 if they have a session from the same address. */
function findPerson({ store: { db } }: SignInOptions, email: string, { address }: AnonymousClient) {
  // Always one statement, so that the time does not reveal whether the person exists.
  return db
    .selectFrom('people')
    .select(['id', 'password_hash'])
    .select(({ exists, selectFrom }) =>
      exists(
        selectFrom('sessions')
          .select('sessions.id')
          .whereRef('sessions.person_id', '=', 'people.id')
          .where('sessions.address', '=', address ?? ''),
      ).as('known_from'),
    )
    .where('email', '=', email)
    .executeTakeFirst()
}

/** Begins a session and records it in the audit log. Throws `insufficient_scope` for a member of no account. */
export async function beginSession(
  transaction: Transaction<Tables>,
  personId: string,
  {
    from,
    options,
    after,
  }: { from: AnonymousClient; options: Pick<SignInOptions, 'audit' | 'sessions'>; after?: object },
): Promise<NewSession> {
  const [first] = await membershipsOf(transaction, personId)
  if (first === undefined) throw noMembershipError()
  const begun = await options.sessions.begin(transaction, personId, from)
  const actor = { id: personId, address: from.address }
  const account_id = first.account.id
  const act = { account_id, action: 'session.create', target: begun.session.id } as const
  await options.audit.write(transaction, actor, { ...act, ...(after && { after }) })
  return begun
}

type Owner = { email: string; name: string; hash: string; now: number }

/** Makes a person an owner of the first account; a registered person also gets the new password. */
async function makeOwner(transaction: Transaction<Tables>, owner: Owner) {
  const { id: accountId } = await transaction
    .selectFrom('accounts')
    .select('id')
    .where('is_operator', '=', 1)
    .executeTakeFirstOrThrow()
  const existing = await findByEmail(transaction, owner.email)
  const id = existing ?? (await insertPerson(transaction, owner))
  if (existing !== undefined) {
    const { hash, now } = owner
    await setPassword(transaction, { id, hash, keptSessionId: null, now })
  }
  const joined = { account_id: accountId, person_id: id, joined_at: owner.now }
  const row = { ...joined, role: 'owner', ...unlimitedMember } as const
  await transaction
    .insertInto('members')
    .values(row)
    .onConflict((one) => one.columns(['account_id', 'person_id']).doUpdateSet({ role: 'owner' }))
    .execute()
  return { id, accountId }
}
