import type { Kysely, Transaction } from 'kysely'
import type { components } from '../../generated/types.ts'
import type { Actor, Caller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import type { PageRequest } from '../core/page.ts'
import type { InvitationsTable, MemberLimits, Tables } from '../storage/tables.ts'
import { createToken, digestOf } from './api-key.ts'
import type { ChangeParts } from './audit.ts'
import { newId } from './id.ts'
import { timeText } from './key-form.ts'
import { countOf, listPage } from './list-page.ts'
import type { ModelIds } from './key-settings.ts'
import { memberColumns, memberSettings, offeredLimits, unlimitedMember } from './member-limits.ts'
import { alreadyMember } from './members.ts'
import { plainEmail } from './password.ts'
import { assertMayChange } from './role.ts'

type Schemas = components['schemas']
type Invitation = Schemas['Invitation']
type Options = Omit<ChangeParts, 'announce'> & {
  /** The gateway's address for browsers. */
  baseUrl: string
  limits: { invitationsPerAccountMax: number }
}

/** Lifetime of an invitation: covers a week of leave; a longer life would expose the secret link longer. */
const ttlMs = 7 * 86_400_000

export type Invitations = ReturnType<typeof createInvitations>

/** Invitations to an account: each is for one e-mail, with a one-time link. */
export function createInvitations(options: Options) {
  const { audit, clock, baseUrl } = options
  const { db } = options.store
  return {
    /** Open, unexpired invitations. */
    list: (accountId: string, page: PageRequest) =>
      listPage(usable(db, accountId, clock()), page, { time: 'created_at', toItem: toInvitation }),
    /**
     * Invites an e-mail, and replaces its open invitation. Throws `already_member`, `too_many_invitations`,
     * and `insufficient_scope` for a role that the caller may not assign; so does `withdraw`.
     */
    create: (
      caller: Caller,
      member: Schemas['NewMember'],
      { actor, modelIds }: { actor: Actor; modelIds: ModelIds },
    ) => {
      const limits = { ...unlimitedMember, ...memberColumns(member, modelIds) }
      return db.transaction().execute(async (transaction) => {
        const { accountId } = caller
        const email = plainEmail(member.email)
        assertMayChange(caller, member.role)
        await assertNoMember(transaction, accountId, email)
        const older = await open(transaction, accountId).where('email', '=', email).execute()
        for (const row of older) await withdraw(transaction, row, { caller, actor, audit })
        await assertBelowMaximum(transaction, accountId, options)
        const token = createToken()
        const made = { accountId, role: member.role, email, token, by: actor.id, limits }
        const row = rowOf(made, options)
        await transaction.insertInto('invitations').values(row).execute()
        const act = { account_id: accountId, action: 'invitation.create', target: row.id } as const
        await audit.write(transaction, actor, {
          ...act,
          after: { email, role: row.role, ...memberSettings(row) },
        })
        const link = `${baseUrl}/dashboard/invitations#token=${token}`
        return { ...toInvitation(row), token, link }
      })
    },
    /** Throws `not_found`. */
    withdraw: (caller: Caller, id: string, actor: Actor) =>
      db.transaction().execute(async (transaction) => {
        const row = await open(transaction, caller.accountId)
          .where('id', '=', id)
          .executeTakeFirst()
        if (row === undefined) {
          const text =
            'The account has no such open invitation. GET /api/invitations lists the open ones.'
          throw new GatewayError('not_found', text, { param: 'id' })
        }
        await withdraw(transaction, row, { caller, actor, audit })
      }),
  }
}

/** Finds an invitation by its token. Throws `invalid_value` with the reason if it cannot be accepted. */
export async function findInvitation(
  db: Kysely<Tables>,
  token: string,
  now: number,
): Promise<InvitationsTable> {
  const row = await db
    .selectFrom('invitations')
    .selectAll()
    .where('digest', '=', digestOf(token))
    .executeTakeFirst()
  if (row === undefined) throw notUsable('was withdrawn, or does not belong to this gateway')
  if (row.used_at !== null) throw notUsable('has been accepted')
  if (row.expires_at <= now) throw notUsable('has expired')
  return row
}

/** Accepts an invitation; of concurrent calls one succeeds. Throws `invalid_value`. */
export async function useInvitation(
  transaction: Transaction<Tables>,
  token: string,
  now: number,
): Promise<InvitationsTable> {
  const row = await findInvitation(transaction, token, now)
  const { numUpdatedRows } = await transaction
    .updateTable('invitations')
    .set({ used_at: now })
    .where('id', '=', row.id)
    .where('used_at', 'is', null)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw notUsable('has been accepted')
  return row
}

function notUsable(why: string): GatewayError {
  const text = `This invitation ${why}. Ask an administrator of the account for a new one.`
  return new GatewayError('invalid_value', text, { param: 'token' })
}

async function assertNoMember(db: Kysely<Tables>, accountId: string, email: string): Promise<void> {
  const row = await db
    .selectFrom('members')
    .innerJoin('people', 'people.id', 'members.person_id')
    .select('people.id')
    .where('members.account_id', '=', accountId)
    .where('people.email', '=', email)
    .executeTakeFirst()
  if (row !== undefined) throw alreadyMember()
}

/** An approximate maximum: concurrent transactions do not see each other's invitations. */
async function assertBelowMaximum(
  db: Kysely<Tables>,
  accountId: string,
  { clock, limits: { invitationsPerAccountMax: most } }: Pick<Options, 'clock' | 'limits'>,
): Promise<void> {
  const count = await countOf(usable(db, accountId, clock()))
  if (count < most) return
  const text =
    `The account has ${count} open invitations, the maximum. ` +
    'Withdraw invitations that are no longer needed: GET /api/invitations lists them.'
  throw new GatewayError('too_many_invitations', text)
}

async function withdraw(
  transaction: Transaction<Tables>,
  { id, account_id, email, role }: InvitationsTable,
  { caller, actor, audit }: { caller: Caller; actor: Actor; audit: Options['audit'] },
): Promise<void> {
  assertMayChange(caller, role)
  await transaction.deleteFrom('invitations').where('id', '=', id).execute()
  const act = { account_id, action: 'invitation.delete', target: id } as const
  await audit.write(transaction, actor, { ...act, before: { email, role } })
}

type New = Pick<InvitationsTable, 'role' | 'email'> & {
  accountId: string
  token: string
  by: string
  limits: MemberLimits
}

function rowOf(
  { accountId, role, email, token, by, limits }: New,
  { clock }: Pick<Options, 'clock'>,
): InvitationsTable {
  const now = clock()
  return {
    id: newId('inv'),
    account_id: accountId,
    role,
    email,
    digest: digestOf(token),
    created_by: by,
    created_at: now,
    expires_at: now + ttlMs,
    used_at: null,
    ...limits,
  }
}

/** Invitations that were not accepted, including expired ones. */
function open(db: Kysely<Tables>, accountId: string) {
  return db
    .selectFrom('invitations')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('used_at', 'is', null)
}

function usable(db: Kysely<Tables>, accountId: string, now: number) {
  return open(db, accountId).where('expires_at', '>', now)
}

function toInvitation(row: InvitationsTable): Invitation {
  const { id, account_id, email, role, created_by } = row
  const times = { created_at: timeText(row.created_at), expires_at: timeText(row.expires_at) }
  const limits = offeredLimits(row)
  return { id, object: 'invitation', account_id, email, role, ...limits, created_by, ...times }
}
