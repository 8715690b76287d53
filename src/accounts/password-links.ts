import type { Kysely, Transaction } from 'kysely'
import type { components } from '../../generated/types.ts'
import type { Actor, Caller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import type { Tables } from '../storage/tables.ts'
import { createToken, digestOf } from './api-key.ts'
import { commandLine, type ChangeParts } from './audit.ts'
import { timeText } from './key-form.ts'
import { isOperating, membershipsByPerson, membershipsOf, type Membership } from './memberships.ts'
import { plainEmail } from './password.ts'
import { mayChange, onlyOwners } from './role.ts'
import { noMembershipError } from './sessions.ts'

type CreatedPasswordLink = components['schemas']['CreatedPasswordLink']
type Options = Omit<ChangeParts, 'announce'> & {
  /** The gateway's address for browsers. */
  baseUrl: string
}

/** Lifetime of a link: one day, since a password link is used soon after it is handed over. */
const ttlMs = 86_400_000

export type PasswordLinks = ReturnType<typeof createPasswordLinks>

/** The one-time links by which people who forgot their password set a new one. */
export function createPasswordLinks(options: Options) {
  const { db } = options.store
  return {
    /**
     * Creates a link for a member of the account, and ends older ones. Throws `not_found`, and
     * `insufficient_scope` if the link would give access to more than the caller may change.
     */
    create: (caller: Caller, personId: string, actor: Actor) =>
      db.transaction().execute(async (transaction) => {
        const refusalOf = await passwordLinkRefusals(transaction, caller, [personId])
        const refusal = refusalOf(personId)
        if (refusal !== undefined) throw refusal
        return insert(transaction, { personId, accountId: caller.accountId, actor }, options)
      }),
    /** Creates a link for any person, for the command line. Throws `not_found`. */
    createByEmail: (email: string) =>
      db.transaction().execute(async (transaction) => {
        const person = await transaction
          .selectFrom('people')
          .select('id')
          .where('email', '=', plainEmail(email))
          .executeTakeFirst()
        if (person === undefined) {
          throw new GatewayError('not_found', 'No person has this e-mail.', { param: 'email' })
        }
        const [first] = await membershipsOf(transaction, person.id)
        if (first === undefined) throw noMembershipError()
        const fresh = { personId: person.id, accountId: first.account.id, actor: commandLine }
        return insert(transaction, fresh, options)
      }),
  }
}

/**
 * Ends a person's open password links. Called in each transaction that changes the password or a role, since
 * permission to create the links was checked against the earlier roles.
 */
export async function endPasswordLinks(
  transaction: Transaction<Tables>,
  personId: string,
  now: number,
): Promise<void> {
  await transaction
    .updateTable('password_links')
    .set({ used_at: now })
    .where('person_id', '=', personId)
    .where('used_at', 'is', null)
    .execute()
}

/** Uses a link and returns its person; of concurrent calls one succeeds. Throws `invalid_value`. */
export async function usePasswordLink(
  transaction: Transaction<Tables>,
  token: string,
  now: number,
): Promise<string> {
  const { personId } = await findPasswordLink(transaction, token, now)
  const { numUpdatedRows } = await transaction
    .updateTable('password_links')
    .set({ used_at: now })
    .where('digest', '=', digestOf(token))
    .where('used_at', 'is', null)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw notUsable(ended)
  return personId
}

/** The person of a link. Throws `invalid_value` with the reason if the link cannot be used. */
export async function findPasswordLink(
  db: Kysely<Tables>,
  token: string,
  now: number,
): Promise<{ personId: string; email: string }> {
  const row = await db
    .selectFrom('password_links')
    .innerJoin('people', 'people.id', 'password_links.person_id')
    .select(['people.id', 'people.email', 'password_links.used_at', 'password_links.expires_at'])
    .where('password_links.digest', '=', digestOf(token))
    .executeTakeFirst()
  if (row === undefined) throw notUsable('does not belong to this gateway')
  if (row.used_at !== null) throw notUsable(ended)
  if (row.expires_at <= now) throw notUsable('has expired')
  return { personId: row.id, email: row.email }
}

const ended =
  'has been used, or was ended by a newer link or by a change of the password or the role'

function notUsable(why: string): GatewayError {
  const text = `This link ${why}. Ask an administrator for a new one.`
  return new GatewayError('invalid_value', text, { param: 'token' })
}

async function insert(
  transaction: Transaction<Tables>,
  { personId, accountId, actor }: { personId: string; accountId: string; actor: Actor },
  { audit, clock, baseUrl }: Options,
): Promise<CreatedPasswordLink> {
  const now = clock()
  const token = createToken()
  const expiresAt = now + ttlMs
  await endPasswordLinks(transaction, personId, now)
  const { email } = await transaction
    .selectFrom('people')
    .select('email')
    .where('id', '=', personId)
    .executeTakeFirstOrThrow()
  await transaction
    .insertInto('password_links')
    .values({
      digest: digestOf(token),
      person_id: personId,
      created_at: now,
      expires_at: expiresAt,
      used_at: null,
    })
    .execute()
  const act = { account_id: accountId, action: 'password_link.create', target: personId } as const
  await audit.write(transaction, actor, { ...act, after: { email } })
  const link = `${baseUrl}/dashboard/password#token=${token}`
  const expires_at = timeText(expiresAt)
  return { object: 'password_link', person_id: personId, email, expires_at, token, link }
}

/** The error for creating a password link for a person; undefined if the caller may create it. */
type RefusalOf = (personId: string) => GatewayError | undefined

/**
 * Checks for each person whether the caller may create a password link. A password gives access to all of
 * a person's accounts, so a caller must already be allowed to change all of them.
 */
export async function passwordLinkRefusals(
  db: Kysely<Tables>,
  caller: Caller,
  personIds: readonly string[],
): Promise<RefusalOf> {
  const own = caller.person?.id
  const known = await membershipsByPerson(db, own === undefined ? personIds : [...personIds, own])
  return (personId) => {
    if (personId === own) {
      return mayNot(
        'Change your own password with PUT /api/me/password, or ask another administrator for a link.',
      )
    }
    const theirs = known.get(personId) ?? []
    return refusalFor(caller, theirs, own === undefined ? [] : (known.get(own) ?? []))
  }
}

function refusalFor(
  caller: Caller,
  theirs: readonly Membership[],
  own: readonly Membership[],
): GatewayError | undefined {
  const here = theirs.find(({ account }) => account.id === caller.accountId)
  if (here === undefined) {
    const text = 'The account has no such member. GET /api/members lists them.'
    return new GatewayError('not_found', text, { param: 'id' })
  }
  if (!mayChange(caller, here.role)) return onlyOwners()
  if (!caller.isOperator && theirs.length > 1) {
    const text = 'This person has other accounts too. Ask an operator of the gateway for the link.'
    return mayNot(text)
  }
  const operating = theirs.find(isOperating)
  if (operating?.role !== 'owner') return undefined
  const isOwnerToo = own.some(
    ({ account, role }) => account.id === operating.account.id && role === 'owner',
  )
  return isOwnerToo
    ? undefined
    : mayNot('This person owns the gateway. Ask another owner of the first account for the link.')
}

function mayNot(text: string): GatewayError {
  return new GatewayError('insufficient_scope', text)
}
