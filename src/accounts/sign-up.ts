import type { Transaction } from 'kysely'
import type { components } from '../../generated/types.ts'
import type { Actor, PersonCaller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import type { InvitationsTable, Tables } from '../storage/tables.ts'
import { noAllowance } from './allowance.ts'
import {
  beginSession,
  confirmPassword,
  signInResult,
  verifyPassword,
  type SignInOptions,
  type SignInResult,
  type AnonymousClient,
} from './sign-in.ts'
import { newId } from './id.ts'
import { findInvitation, useInvitation } from './invitations.ts'
import { timeText } from './key-form.ts'
import { limitsIn, offeredLimits } from './member-limits.ts'
import { addMember } from './members.ts'
import { assertStrong, plainEmail } from './password.ts'
import { findByEmail, insertPerson, type NewPerson } from './people.ts'
import type { Sessions } from './sessions.ts'

type Schemas = components['schemas']

/** The acceptance of an invitation; a new person sends a name and a password too. */
type Accepting = Schemas['AcceptInvitationRequest']

type Options = SignInOptions & {
  sessions: Pick<Sessions, 'current'>
  attempts: { signUp(origin: string): Promise<void> }
  /** Whether anyone may create an account without an invitation. */
  signUp: 'open' | 'closed'
}

export type SignUps = ReturnType<typeof createSignUps>

/** Sign-up, and acceptance of invitations. */
export function createSignUps(options: Options) {
  const { store, sessions, people, attempts, clock } = options
  const { db } = store
  const invitationOf = async (token: string, origin: string) => {
    const succeeded = await attempts.begin({ origin })
    const invitation = await findInvitation(db, token, clock())
    succeeded()
    return invitation
  }
  return {
    /** Creates a person and their account. Throws `sign_up_closed`, `email_taken`. */
    signUp: (person: NewPerson, from: AnonymousClient) => signUp(person, from, options),
    /**
     * Accepts an invitation without a session. Throws `invalid_value` for the token or a weak password,
     * `missing_required_parameter`, and `invalid_credentials` for a wrong password of a registered person.
     */
    accept: async (accepting: Accepting, from: AnonymousClient) => {
      await options.assertPasswordsOpen()
      const { email } = await invitationOf(accepting.token, from.origin)
      const enter =
        (await findByEmail(db, email)) === undefined
          ? await newPerson(accepting, email, options)
          : await registeredPerson(accepting, email, { from, options })
      const [id, begun] = await db.transaction().execute(async (transaction) => {
        const invitation = await useInvitation(transaction, accepting.token, clock())
        const personId = await enter(transaction)
        const by = { id: personId, address: from.address }
        await add(transaction, invitation, { personId, by, options })
        return [personId, await beginSession(transaction, personId, { from, options })] as const
      })
      return signInResult(people, id, begun)
    },
    /** Describes an invitation to the holder of its token. Throws `invalid_value`. */
    describe: async (token: string, { origin }: Pick<AnonymousClient, 'origin'>) => {
      const row = await invitationOf(token, origin)
      const names = await db
        .selectFrom('accounts')
        .leftJoin('people', (join) => join.on('people.id', '=', row.created_by))
        .select(['accounts.name as account_name', 'people.name as invited_by'])
        .where('accounts.id', '=', row.account_id)
        .executeTakeFirstOrThrow()
      const { email, role, expires_at: end } = row
      const offer = { ...names, email, role, ...offeredLimits(row) }
      return { object: 'invitation_offer', ...offer, expires_at: timeText(end) }
    },
    /** Accepts an invitation for a signed-in person. Throws `invalid_value` for the token, `already_member`. */
    join: async (
      caller: PersonCaller,
      token: string,
      { origin, ...by }: Actor & { origin: string },
    ) => {
      const { id: personId, csrfToken } = caller.person
      const { email } = await invitationOf(token, origin)
      if ((await people.retrieve(personId)).email !== email) {
        const text =
          'This invitation is for a different e-mail than yours. Sign out, or sign in with the invited e-mail.'
        throw new GatewayError('invalid_value', text, { param: 'token' })
      }
      await db.transaction().execute(async (transaction) => {
        const invitation = await useInvitation(transaction, token, clock())
        await add(transaction, invitation, { personId, by, options })
      })
      const [session, person] = await Promise.all([
        sessions.current(caller),
        people.retrieve(personId),
      ])
      return { object: 'signed_in', csrf_token: csrfToken, session, person }
    },
  }
}

/** Finds or creates the person in the transaction that signs them in; resolves with their id. */
type Enter = (transaction: Transaction<Tables>) => Promise<string>

async function newPerson(
  { name, password }: Accepting,
  email: string,
  { passwords, clock }: Pick<Options, 'passwords' | 'clock'>,
): Promise<Enter> {
  if (name === undefined) throw missing('name')
  if (password === undefined) throw missing('password')
  assertStrong(password, email, 'password')
  const hash = await passwords.hash(password)
  return (transaction) => insertPerson(transaction, { email, name, hash, now: clock() })
}

async function registeredPerson(
  { password }: Accepting,
  email: string,
  { from, options }: { from: AnonymousClient; options: Options },
): Promise<Enter> {
  if (password === undefined) throw missing('password')
  const verified = await verifyPassword(options, { email, password }, from)
  return async (transaction) => {
    await confirmPassword(transaction, verified)
    return verified.id
  }
}

type Joining = { personId: string; by: Actor; options: Pick<Options, 'audit' | 'clock'> }

async function add(
  transaction: Transaction<Tables>,
  invitation: InvitationsTable,
  { personId, by, options: { audit, clock } }: Joining,
): Promise<void> {
  const { id, account_id: accountId, role, email } = invitation
  const limits = limitsIn(invitation)
  await addMember(transaction, { accountId, personId, role, limits, now: clock() })
  const act = { account_id: accountId, action: 'invitation.accept', target: id } as const
  await audit.write(transaction, by, { ...act, after: { person: personId, email, role } })
}

async function signUp(
  { email: given, name, password }: NewPerson,
  from: AnonymousClient,
  options: Options,
): Promise<SignInResult> {
  const { store, audit, passwords, people, attempts, clock } = options
  if (options.signUp === 'closed') {
    const text = 'Sign-up is closed. Ask an administrator for an invitation.'
    throw new GatewayError('sign_up_closed', text)
  }
  await options.assertPasswordsOpen()
  await attempts.signUp(from.origin)
  const email = plainEmail(given)
  assertStrong(password, email, 'password')
  const hash = await passwords.hash(password)
  const [id, begun] = await store.db.transaction().execute(async (transaction) => {
    const now = clock()
    const personId = await insertPerson(transaction, { email, name, hash, now })
    const account = { id: newId('acc'), name: name.trim(), created_at: now, is_operator: 0 }
    const row = { ...account, keeps_prompts: 0, ...noAllowance }
    await transaction.insertInto('accounts').values(row).execute()
    await addMember(transaction, { accountId: row.id, personId, role: 'owner', now })
    const act = { account_id: row.id, action: 'person.sign_up', target: personId } as const
    const by = { id: personId, address: from.address }
    await audit.write(transaction, by, { ...act, after: { email, name: row.name } })
    return [personId, await beginSession(transaction, personId, { from, options })] as const
  })
  return signInResult(people, id, begun)
}

function missing(param: 'name' | 'password'): GatewayError {
  const text = `'${param}' is missing. Send it, or sign in with the invited e-mail first.`
  return new GatewayError('missing_required_parameter', text, { param })
}
