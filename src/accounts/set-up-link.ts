import { existsSync } from 'node:fs'
import type { Kysely, Transaction } from 'kysely'
import { GatewayError } from '../core/error.ts'
import { gatewayCommand } from '../core/words/remedies.ts'
import type { Tables } from '../storage/tables.ts'
import { createToken, digestOf } from './api-key.ts'
import { commandLine, type ChangeParts } from './audit.ts'

type Options = Omit<ChangeParts, 'announce'>

/** Lifetime of a link: one day, since the operator uses the link soon after the first start. */
const ttlMs = 86_400_000

/** Replicas that start within this time make one link, even if their clocks differ by as much. */
const justMadeMs = 60_000

/** One-time links that create an owner of the first account. */
export function createSetUpLinks({ store: { db }, audit, clock }: Options) {
  const create = (transaction: Transaction<Tables>) => insert(transaction, clock())
  return {
    /** Creates a link, ends older ones, and returns its token; for the command line. */
    create: () =>
      db.transaction().execute(async (transaction) => {
        const { id } = await transaction
          .selectFrom('accounts')
          .select('id')
          .where('is_operator', '=', 1)
          .executeTakeFirstOrThrow()
        const act = { account_id: id, action: 'setup_link.create', target: id } as const
        await audit.write(transaction, commandLine, act)
        return create(transaction)
      }),
    /** Like `create`, unless the gateway has an owner (undefined) or another process has just made a link. */
    createIfNeeded: () =>
      db.transaction().execute(async (transaction) => {
        const owner = await transaction
          .selectFrom('members')
          .innerJoin('accounts', 'accounts.id', 'members.account_id')
          .select('members.person_id')
          .where('accounts.is_operator', '=', 1)
          .where('members.role', '=', 'owner')
          .limit(1)
          .executeTakeFirst()
        if (owner !== undefined) return undefined
        const now = clock()
        const link = await transaction
          .selectFrom('setup_links')
          .select('digest')
          .where('used_at', 'is', null)
          .where('created_at', '>', now - justMadeMs)
          .where('created_at', '<', now + justMadeMs)
          .limit(1)
          .executeTakeFirst()
        return link === undefined ? { token: await create(transaction) } : 'made_elsewhere'
      }),
  }
}

const dashboard = new URL('../../dashboard/dist/', import.meta.url)

/** The printed text for a link: its page, if the dashboard is built, and a command to paste. */
export function setUpText(baseUrl: string, token: string): string {
  const person = {
    token,
    email: 'you@example.com',
    name: 'You',
    password: 'a long sentence of yours',
  }
  const how = existsSync(dashboard)
    ? `Open this one-time link to create an owner: ${baseUrl}/dashboard/setup#token=${token}\n\nOr, with`
    : 'The dashboard is not built. To create an owner by a command, with'
  return `${how} your own e-mail, name and password:

curl -s ${baseUrl}/api/setup -H "Content-Type: application/json" -d '${JSON.stringify(person)}'
`
}

/** The printed text when another process has printed a link. */
export const printedElsewhereText = `Another process printed a set-up link less than a minute ago. \`${gatewayCommand} setup-link\` prints a new one.\n`

/** Throws `invalid_value` with the reason if a link cannot be used. */
export async function assertSetUpLink(
  db: Kysely<Tables>,
  token: string,
  now: number,
): Promise<void> {
  const row = await db
    .selectFrom('setup_links')
    .select(['used_at', 'expires_at'])
    .where('digest', '=', digestOf(token))
    .executeTakeFirst()
  if (row === undefined) throw notUsable('does not belong to this gateway')
  if (row.used_at !== null) throw notUsable('has been used, or was replaced by a newer one')
  if (row.expires_at <= now) throw notUsable('has expired')
}

/** Uses up a link. Throws `invalid_value`. */
export async function useSetUpLink(
  transaction: Transaction<Tables>,
  token: string,
  now: number,
): Promise<void> {
  await assertSetUpLink(transaction, token, now)
  await transaction
    .updateTable('setup_links')
    .set({ used_at: now })
    .where('digest', '=', digestOf(token))
    .execute()
}

function notUsable(why: string): GatewayError {
  const text = `This set-up link ${why}. \`${gatewayCommand} setup-link\` prints a new one.`
  return new GatewayError('invalid_value', text, { param: 'token' })
}

async function insert(transaction: Transaction<Tables>, now: number): Promise<string> {
  const token = createToken()
  await transaction
    .updateTable('setup_links')
    .set({ used_at: now })
    .where('used_at', 'is', null)
    .execute()
  const expiresAt = now + ttlMs
  const row = { digest: digestOf(token), created_at: now, expires_at: expiresAt, used_at: null }
  await transaction.insertInto('setup_links').values(row).execute()
  return token
}
