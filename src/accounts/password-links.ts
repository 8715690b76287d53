import type { Kysely, Transaction } from 'kysely'
import type { components } from '../../generated/types.ts'
import type { Actor, Caller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import type { Store } from '../storage/store.ts'
import type { Tables } from '../storage/tables.ts'
import { digestOf } from './api-key.ts'
import type { Audit } from './audit.ts'
import { commandLine } from './command-line.ts'
import { endPasswordLinks } from './end-password-links.ts'
import { timeText } from './key-form.ts'
import { membershipsOf } from './memberships.ts'
import { createToken } from './one-time-token.ts'
import { passwordLinkRefusals } from './password-link-refusals.ts'
import { findByEmail, plainEmail } from './people.ts'
import { memberOfNone } from './sessions.ts'

type CreatedPasswordLink = components['schemas']['CreatedPasswordLink']
type Options = {
  store: Pick<Store, 'db'>
  audit: Pick<Audit, 'write'>
  clock: () => number
  /** Where browsers reach the gateway. */
  baseUrl: string
  limits: { passwordLinkTtlSeconds: number }
}

export type PasswordLinks = {
  /**
   * A link for a member of the account, the only one that works from now on. Throws `not_found`, and
   * `insufficient_scope` where it would open more than the caller may change.
   */
  create(caller: Caller, personId: string, actor: Actor): Promise<CreatedPasswordLink>
  /** A link for anybody, for whoever runs the machine. Throws `not_found`. */
  createByEmail(email: string): Promise<CreatedPasswordLink>
}

/** The one-time links by which people who forgot their password set a new one. */
export function createPasswordLinks(options: Options): PasswordLinks {
  const { db } = options.store
  return {
    create: (caller, personId, actor) =>
      db.transaction().execute(async (transaction) => {
        const refusalOf = await passwordLinkRefusals(transaction, caller, [personId])
        const refusal = refusalOf(personId)
        if (refusal !== undefined) throw refusal
        return insert(transaction, { personId, accountId: caller.accountId, actor }, options)
      }),
    createByEmail: (email) =>
      db.transaction().execute(async (transaction) => {
        const personId = await findByEmail(transaction, plainEmail(email))
        if (personId === undefined) {
          throw new GatewayError('not_found', 'Nobody has this e-mail.', { param: 'email' })
        }
        const [first] = await membershipsOf(transaction, personId)
        if (first === undefined) throw memberOfNone()
        const accountId = first.account.id
        return insert(transaction, { personId, accountId, actor: commandLine }, options)
      }),
  }
}

/** Takes a link, once, however many try it at once; gives whose it is. Throws `invalid_value`. */
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

/** Whose password a link sets. Throws `invalid_value` for one that cannot be used, with the reason. */
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
  if (row === undefined) throw notUsable('is none of this gateway')
  if (row.used_at !== null) throw notUsable(ended)
  if (row.expires_at <= now) throw notUsable('has expired')
  return { personId: row.id, email: row.email }
}

const ended =
  'has been used, or was ended by a newer one or by a change of the password or the role'

function notUsable(why: string): GatewayError {
  const text = `This link ${why}. Ask whoever gave it to you for a new one.`
  return new GatewayError('invalid_value', text, { param: 'token' })
}

type New = { personId: string; accountId: string; actor: Actor }

async function insert(
  transaction: Transaction<Tables>,
  { personId, accountId, actor }: New,
  { audit, clock, baseUrl, limits }: Options,
): Promise<CreatedPasswordLink> {
  const now = clock()
  const token = createToken()
  const expiresAt = now + limits.passwordLinkTtlSeconds * 1000
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
