import type { Kysely, Transaction } from 'kysely'
import type { Actor, Identity } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import { insertNew } from '../storage/insert-new.ts'
import type { Tables } from '../storage/tables.ts'
import type { ChangeParts } from './audit.ts'
import { grantRole } from './members.ts'
import { noPassword, plainEmail } from './password.ts'
import { findByEmail, insertPerson } from './people.ts'
import type { NewSession } from './sessions.ts'
import { beginSession, type AnonymousClient, type SignInOptions } from './sign-in.ts'

type Options = Omit<ChangeParts, 'announce'> &
  Pick<SignInOptions, 'sessions'> & {
    /** The account that people join; undefined for the first account. */
    accountId: string | undefined
  }

/**
 * Signs people in by their identity at an OpenID provider. Issuer and subject identify a person; the e-mail only
 * at the first sign-in, and only if it is verified. Throws `insufficient_scope`.
 */
export function createOidcSignIns(options: Options) {
  const { audit, clock } = options
  const { db } = options.store
  const enter = (identity: Identity, from: AnonymousClient): Promise<NewSession> =>
    db.transaction().execute(async (transaction) => {
      const now = clock()
      const accountId = await accountIn(transaction, options)
      const parts = { identity, from, accountId, audit, now }
      const personId =
        (await findIdentity(transaction, identity)) ?? (await link(transaction, parts))
      const actor = { id: personId, address: from.address }
      const { role } = identity
      await grantRole(transaction, { accountId, personId, role, actor, audit, now })
      return beginSession(transaction, personId, { from, options })
    })
  return {
    /** The person who has signed in as this subject of an issuer before. */
    find: (issuer: string, subject: string) => findIdentity(db, { issuer, subject }),
    enter: (identity: Identity, from: AnonymousClient) =>
      enter(identity, from).catch((error: unknown) => {
        if (!(error instanceof GatewayError) || error.code !== 'email_taken') throw error
        // A concurrent first sign-in has just stored the person.
        return enter(identity, from)
      }),
  }
}

/**
 * Whether people may sign in with passwords. Closing them applies after an owner of the first account has signed in
 * through the issuer, so that a wrong configuration locks no owner out.
 */
export function createPasswordGate(
  db: Kysely<Tables>,
  { passwordSignIn, oidcIssuer }: { passwordSignIn: 'open' | 'closed'; oidcIssuer?: string },
) {
  const isOpen = async (): Promise<boolean> => {
    if (passwordSignIn === 'open' || oidcIssuer === undefined) return true
    const owner = db
      .selectFrom('person_identities')
      .innerJoin('members', 'members.person_id', 'person_identities.person_id')
      .innerJoin('accounts', 'accounts.id', 'members.account_id')
      .select('members.person_id')
      .where('person_identities.issuer', '=', oidcIssuer)
      .where('accounts.is_operator', '=', 1)
      .where('members.role', '=', 'owner')
      .limit(1)
    return (await owner.executeTakeFirst()) === undefined
  }
  return {
    isOpen,
    /** Throws `password_sign_in_closed`. */
    assertOpen: async (): Promise<void> => {
      if (await isOpen()) return
      const text =
        'Passwords are closed on this gateway. Sign in with OpenID Connect on the sign-in page.'
      throw new GatewayError('password_sign_in_closed', text)
    },
  }
}

async function accountIn(db: Kysely<Tables>, { accountId }: Options): Promise<string> {
  const accounts = db.selectFrom('accounts').select('id')
  const chosen =
    accountId === undefined
      ? accounts.where('is_operator', '=', 1)
      : accounts.where('id', '=', accountId)
  const row = await chosen.executeTakeFirst()
  if (row !== undefined) return row.id
  const text = `The account ${accountId} of OIDC_ACCOUNT does not exist. Ask an operator of the gateway to correct it.`
  throw new GatewayError('insufficient_scope', text)
}

async function findIdentity(
  db: Kysely<Tables>,
  { issuer, subject }: Pick<Identity, 'issuer' | 'subject'>,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('person_identities')
    .select('person_id')
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst()
  return row?.person_id
}

type Linking = {
  identity: Identity
  from: AnonymousClient
  accountId: string
  audit: Options['audit']
  now: number
}

/** Links a new identity to the person with its verified e-mail, or to a new person. */
async function link(
  transaction: Transaction<Tables>,
  { identity, from, accountId, audit, now }: Linking,
): Promise<string> {
  const { issuer, subject } = identity
  const email = verifiedEmail(identity)
  const known = await findByEmail(transaction, email)
  if (known !== undefined) await assertNotLinked(transaction, known, issuer)
  const name = identity.name ?? email
  const id = known ?? (await insertPerson(transaction, { email, name, hash: noPassword, now }))
  const row = { issuer, subject, person_id: id, created_at: now }
  if (!(await insertNew(transaction, 'person_identities', row)))
    throw new GatewayError('email_taken', 'This identity has just signed in.')
  const actor: Actor = { id, address: from.address }
  const action = known === undefined ? 'person.sign_up' : 'person.link_identity'
  const after = { email, issuer, subject }
  await audit.write(transaction, actor, { account_id: accountId, action, target: id, after })
  return id
}

function verifiedEmail({ email, isEmailVerified }: Identity): string {
  if (email === undefined)
    throw refusal(
      'The OpenID provider states no e-mail for you. Ask its administrator to send the claim email.',
    )
  if (!isEmailVerified)
    throw refusal(
      `The OpenID provider does not state that your e-mail ${email} is verified. Verify it there, or ask its administrator.`,
    )
  return plainEmail(email)
}

/** A second identity of the issuer with the e-mail would be another person, who got the address later. */
async function assertNotLinked(db: Kysely<Tables>, id: string, issuer: string): Promise<void> {
  const other = await db
    .selectFrom('person_identities')
    .select('subject')
    .where('person_id', '=', id)
    .where('issuer', '=', issuer)
    .executeTakeFirst()
  if (other === undefined) return
  throw refusal(
    'Another identity of the OpenID provider already uses your e-mail here. Ask an operator of the gateway.',
  )
}

function refusal(text: string): GatewayError {
  return new GatewayError('insufficient_scope', text)
}
