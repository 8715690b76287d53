import type { Transaction } from 'kysely'
import type { components } from '../../generated/types.ts'
import { GatewayError } from '../core/error.ts'
import type { Announce } from '../peers/announcement.ts'
import type { Store } from '../storage/store.ts'
import type { Tables } from '../storage/tables.ts'
import type { Audit } from './audit.ts'
import { membershipsOf } from './memberships.ts'
import { findPasswordLink, usePasswordLink } from './password-links.ts'
import { assertStrong, plainEmail, type Passwords } from './password.ts'
import { findByEmail, insertPerson, setPassword, type NewPerson, type People } from './people.ts'
import { memberOfNone, type BegunSession, type Sessions, type Visitor } from './sessions.ts'
import { assertSetUpLink, useSetUpLink } from './set-up-link.ts'

/** Where somebody who is not signed in comes from; `origin` is what attempts are counted by. */
export type Stranger = Visitor & { origin: string }

/** A session, with the token for its cookie. */
export type LetIn = Pick<BegunSession, 'token' | 'ageSeconds'> & {
  signedIn: components['schemas']['SignedIn']
}

/** Slows down who tries passwords and links. */
type Attempts = {
  begin(attempt: { origin: string; email?: string; isKnown?: boolean }): Promise<() => void>
}

/** What letting people in needs. */
export type EntranceOptions = {
  store: Pick<Store, 'db'>
  audit: Pick<Audit, 'write'>
  announce: Announce
  passwords: Passwords
  people: Pick<People, 'retrieve'>
  sessions: Pick<Sessions, 'begin'>
  attempts: Attempts
  /** Told of each sign-in that fails. */
  onFailure: () => void
  clock: () => number
}

/** A password that is set by a link. */
type ByLink = { token: string; next: string }

export type Entrance = {
  /** Whether there is anybody who could sign in. */
  isSetUp(): Promise<boolean>
  /** Signs a person in. Throws `invalid_credentials`, `rate_limit_exceeded`. */
  signIn(credentials: { email: string; password: string }, from: Stranger): Promise<LetIn>
  /** Makes an owner of the first account with a one-time link. Throws `invalid_value`. */
  setUp(person: NewPerson & { token: string }, from: Stranger): Promise<LetIn>
  /** Sets a new password with a one-time link, and ends all sessions. Throws `invalid_value`. */
  resetPassword(change: ByLink, from: Stranger): Promise<LetIn>
}

/** Where people come in who are not signed in yet. */
export function createEntrance(options: EntranceOptions): Entrance {
  const { store, audit, announce, passwords, people, attempts, clock } = options
  const { db } = store
  const welcomed = (personId: string, begun: BegunSession) => tell(people, personId, begun)
  return {
    isSetUp: async () => {
      const member = db.selectFrom('members').select('person_id').limit(1)
      return (await member.executeTakeFirst()) !== undefined
    },
    signIn: async (credentials, from) => {
      const verified = await verify(options, credentials, from)
      const begun = await db.transaction().execute(async (transaction) => {
        await confirm(transaction, verified)
        return beginIn(transaction, verified.id, { from, options })
      })
      return welcomed(verified.id, begun)
    },
    setUp: async ({ token, email: given, name, password }, from) => {
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
        return [made.id, await beginIn(transaction, made.id, { from, options })] as const
      })
      announce({ kind: 'sessions_changed' })
      succeeded()
      return welcomed(id, begun)
    },
    resetPassword: (change, from) => resetPassword(change, from, options),
  }
}

async function resetPassword(
  { token, next }: ByLink,
  from: Stranger,
  options: EntranceOptions,
): Promise<LetIn> {
  const { store, audit, announce, passwords, people, attempts, clock } = options
  const succeeded = await attempts.begin({ origin: from.origin })
  const { email } = await findPasswordLink(store.db, token, clock())
  assertStrong(next, email, 'new_password')
  const hash = await passwords.hash(next)
  const [id, begun] = await store.db.transaction().execute(async (transaction) => {
    const now = clock()
    const personId = await usePasswordLink(transaction, token, now)
    await setPassword(transaction, { id: personId, hash, keptSessionId: null, now })
    const session = await beginIn(transaction, personId, { from, options })
    const [first] = await membershipsOf(transaction, personId)
    const act = { action: 'person.reset_password', target: personId } as const
    const actor = { id: personId, address: from.address }
    await audit.write(transaction, actor, { ...act, account_id: first!.account.id })
    return [personId, session] as const
  })
  announce({ kind: 'sessions_changed' })
  succeeded()
  return tell(people, id, begun)
}

/** A person who gave their password, which has the hash `stored` and is to have `hash`. */
type Verified = { id: string; stored: string; hash: string }

/** Who has this e-mail and this password. Throws `invalid_credentials`, `rate_limit_exceeded`. */
export async function verify(
  options: EntranceOptions,
  { email: given, password }: { email: string; password: string },
  from: Stranger,
): Promise<Verified> {
  const { passwords, attempts, onFailure } = options
  const email = plainEmail(given)
  const found = await findPerson(options, email, from)
  const isKnown = found?.known_from === 1
  const succeeded = await attempts.begin({ origin: from.origin, email, isKnown })
  if (!(await passwords.matches(password, found?.password_hash)) || found === undefined) {
    onFailure()
    throw wrongCredentials()
  }
  succeeded()
  const { id, password_hash: stored } = found
  const hash = passwords.isOutdated(stored) ? await passwords.hash(password) : stored
  return { id, stored, hash }
}

/** Throws `invalid_credentials` where the password has been changed meanwhile. */
export async function confirm(
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

/** What is told to a person who has been let in. */
export async function tell(
  people: Pick<People, 'retrieve'>,
  personId: string,
  { token, ageSeconds, csrfToken, session }: BegunSession,
): Promise<LetIn> {
  const person = await people.retrieve(personId)
  const signedIn = { object: 'signed_in', csrf_token: csrfToken, session, person } as const
  return { token, ageSeconds, signedIn }
}

/** The person of an e-mail, and whether they are signed in from this address already. */
function findPerson({ store: { db } }: EntranceOptions, email: string, { address }: Stranger) {
  // One statement, also where there is no such person: it takes as long.
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

/** Begins a session and writes it down. Throws `insufficient_scope` for a member of no account. */
export async function beginIn(
  transaction: Transaction<Tables>,
  personId: string,
  { from, options }: { from: Stranger; options: Pick<EntranceOptions, 'audit' | 'sessions'> },
): Promise<BegunSession> {
  const [first] = await membershipsOf(transaction, personId)
  if (first === undefined) throw memberOfNone()
  const begun = await options.sessions.begin(transaction, personId, from)
  const actor = { id: personId, address: from.address }
  const account_id = first.account.id
  const act = { account_id, action: 'session.create', target: begun.session.id } as const
  await options.audit.write(transaction, actor, act)
  return begun
}

type Owner = { email: string; name: string; hash: string; now: number }

/** An owner of the first account: a new person, or who has the e-mail, with a new password. */
async function makeOwner(transaction: Transaction<Tables>, owner: Owner) {
  const { id: accountId } = await transaction
    .selectFrom('accounts')
    .select('id')
    .where('is_operator', '=', 1)
    .executeTakeFirstOrThrow()
  const known = await findByEmail(transaction, owner.email)
  const id = known ?? (await insertPerson(transaction, owner))
  if (known !== undefined) {
    const { hash, now } = owner
    await setPassword(transaction, { id, hash, keptSessionId: null, now })
  }
  const row = { account_id: accountId, person_id: id, role: 'owner', joined_at: owner.now } as const
  await transaction
    .insertInto('members')
    .values(row)
    .onConflict((one) => one.columns(['account_id', 'person_id']).doUpdateSet({ role: 'owner' }))
    .execute()
  return { id, accountId }
}
