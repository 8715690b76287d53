import type { Kysely, Transaction } from 'kysely'
import { GatewayError } from '../core/error.ts'
import type { Store } from '../storage/store.ts'
import type { Tables } from '../storage/tables.ts'
import { createToken, digestOf } from './api-key.ts'
import { commandLine, type Audit } from './audit.ts'

type Options = {
  store: Pick<Store, 'db'>
  audit: Pick<Audit, 'write'>
  clock: () => number
}

/** The link makes an owner: the operator uses it on the day of the start. */
const ttlMs = 86_400_000

export type SetUpLinks = {
  /** A new link's token, the only one that works from now on; for whoever runs the machine. */
  create(): Promise<string>
  /** The same, unless the gateway has an owner, or another process has just made one, which stays. */
  createIfNeeded(): Promise<{ token: string } | 'made_elsewhere' | undefined>
}

/** Replicas that start at once make one link. Their clocks may differ as much. */
const justMadeMs = 60_000

/** The one-time links that make an owner of the first account. */
export function createSetUpLinks({ store: { db }, audit, clock }: Options): SetUpLinks {
  const create = (transaction: Transaction<Tables>) => insert(transaction, clock())
  return {
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

/** What is told of a link: its page, and a command to paste. */
export function setUpText(baseUrl: string, token: string): string {
  const person = {
    token,
    email: 'you@example.com',
    name: 'You',
    password: 'a long sentence of yours',
  }
  return `This link makes an owner, once: ${baseUrl}/dashboard/setup#token=${token}

Or, with your own e-mail, name and password:

curl -s ${baseUrl}/api/setup -H "Content-Type: application/json" -d '${JSON.stringify(person)}'
`
}

/** What is told instead of a link that another process has printed. */
export const printedElsewhereText =
  'Another process printed a link that makes an owner less than a minute ago. `npm run -s gateway -- setup-link` prints a new one.'

/** Throws `invalid_value` for a link that cannot be used, with the reason. */
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
  if (row === undefined) throw notUsable('is none of this gateway')
  if (row.used_at !== null) throw notUsable('has been used, or a newer one has taken its place')
  if (row.expires_at <= now) throw notUsable('has expired')
}

/** Takes a link, once. Throws `invalid_value`. */
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
  const text = `This set-up link ${why}. \`npm run -s gateway -- setup-link\` prints a new one.`
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
