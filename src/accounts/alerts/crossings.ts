import { sql, type Kysely } from 'kysely'
import type { components } from '../../../generated/types.ts'
import { moneyOf } from '../../core/money/price.ts'
import { listed, sqlDialectOf } from '../../storage/sql-dialect.ts'
import type { Tables } from '../../storage/tables.ts'
import { tagRows } from '../allowance.ts'
import { kindOf, memberOwner, tagIn, type OwnerKind } from '../budget-owners.ts'
import { readStatesOf } from '../budget-states.ts'
import { stateOf, windowAt } from '../spendings.ts'
import { dayMs, hourMs } from '../usage/range.ts'

type Schemas = components['schemas']
type BudgetState = Schemas['BudgetState']
export type AlertType = Extract<Schemas['WebhookEventType'], `alert.${string}`>

/** Something to alert an account to, once for each subject and period. */
export type Crossing = {
  accountId: string
  type: AlertType
  /** The owner of a budget, the account, or the provider. */
  subject: string
  /** The period, in which the crossing is published once; the end is exclusive. */
  startsAt: number
  endsAt: number
  text: string
  /** The page of the dashboard, as a path. */
  page: string
  budget?: BudgetState
  percent?: number
}

/** Lowest first. */
const thresholds = [50, 80, 100] as const
const unusualFactor = 3
const unusualFloorNanoUsd = 1e9
/** Refusals are written in batches, and their alert is of use for so long. */
const refusalMs = 600_000

/** The crossings of budgets and spending in the store at a time, of these accounts. */
export async function readCrossings(
  db: Kysely<Tables>,
  accountIds: readonly string[],
  now: number,
): Promise<Crossing[]> {
  const reading = { db, accounts: listed(db, accountIds), now }
  const all = [reached(reading), refused(reading), unusual(reading)]
  return (await Promise.all(all)).flat()
}

type Reading = { db: Kysely<Tables>; accounts: ReturnType<typeof listed>; now: number }
type Owner = Pick<Tables['api_keys'], 'account_id' | 'name'> &
  Pick<Tables['budget_windows'], 'owner_id' | 'starts_at' | 'ends_at'> & {
    nano_usd: number
    period: Schemas['BudgetPeriod']
    spent: number
    reserved: number
  }

/** Each threshold that a budget has reached in its current period. */
async function reached({ db, accounts, now }: Reading): Promise<Crossing[]> {
  const amount = sql`budget_nano_usd as nano_usd, budget_period as period`
  const tags = {
    sqlite: sql`json_each(tag_budgets) as one`,
    postgres: sql`jsonb_array_elements(tag_budgets::jsonb) as one(value)`,
  }[sqlDialectOf(db)]
  const { rows } = await sql<Owner>`
    select one.*, starts_at, ends_at, spent_nano_usd as spent, reserved_nano_usd as reserved
    from (
      select id as owner_id, id as account_id, name, ${amount} from accounts where id in ${accounts}
      union all
      select coalesce(counts_with, id), account_id, name, ${amount}
      from api_keys where account_id in ${accounts} and revoked_at is null
      union all
      select account_id || ':' || person_id, account_id, name, ${amount}
      from members join people on people.id = person_id where account_id in ${accounts}
      union all
      select coalesce(k.counts_with, k.id) || '#' || (one.value ->> 'tag'), k.account_id, k.name,
        cast(one.value ->> 'nano_usd' as bigint), one.value ->> 'period'
      from api_keys k cross join ${tags}
      where k.account_id in ${accounts} and k.revoked_at is null and tag_budgets is not null
    ) as one join budget_windows w on w.owner_id = one.owner_id and ends_at > ${now} and starts_at <= ${now}
    where nano_usd > 0 and spent_nano_usd >= nano_usd / 2`.execute(db)
  return rows.flatMap((row) => {
    const { account_id: accountId, owner_id: ownerId, starts_at: startsAt, ends_at: endsAt } = row
    const { nano_usd: nanoUsd, period, spent, reserved } = row
    const window = windowAt(period, now)
    // A window of a period that the budget had before.
    if (window.startsAt !== startsAt || window.endsAt !== endsAt) return []
    const budget = stateOf({
      accountId,
      ownerId,
      budget: { nanoUsd, period },
      window,
      spent,
      reserved,
    })
    return thresholds
      .filter((percent) => spent / nanoUsd >= percent / 100)
      .map((percent) => ({
        ...aboutBudget(row, budget),
        type: 'alert.budget_reached',
        startsAt,
        endsAt,
        percent,
        text: `${percent} % of the budget of ${whose(row)} is used. ${spentText(budget)}`,
      }))
  })
}

/** The budgets that refused calls of live keys a short while ago. */
async function refused({ db, accounts, now }: Reading): Promise<Crossing[]> {
  const refusals = await db
    .selectFrom('refusals')
    .innerJoin('api_keys', 'api_keys.id', 'refusals.key_id')
    .selectAll('api_keys')
    .select(['last_at as refused_at', 'budget_owner_id'])
    .where('refusals.account_id', 'in', accounts)
    .where('hour_at', '>', now - refusalMs - hourMs)
    .where('last_at', '>', now - refusalMs)
    .where('error_code', '=', 'insufficient_quota')
    .where('mode', '=', 'live')
    .execute()
  const found = await Promise.all(
    refusals.map(async (key) => {
      const account = await db
        .selectFrom('accounts')
        .selectAll()
        .where('id', '=', key.account_id)
        .executeTakeFirstOrThrow()
      const member = await findMember(db, key)
      const rows = [account, key, ...tagRows(key), ...(member === undefined ? [] : [member])]
      const states = await readStatesOf(db, rows, key.refused_at)
      const budget = states.find((one) => one?.owner_id === key.budget_owner_id)
      // The budget was removed, or an older version counted the refusal.
      if (!budget) return []
      const owner = { owner_id: budget.owner_id, account_id: account.id }
      const names = { account: account.name, key: key.name, tag: key.name, member: member?.name }
      const row = { ...owner, name: names[kindIn(owner)] ?? '' }
      const { startsAt, endsAt } = windowAt(budget.period, key.refused_at)
      const text = `The budget of ${whose(row)} refuses calls, which may cost more than is left. ${spentText(budget)}`
      const crossing = { ...aboutBudget(row, budget), startsAt, endsAt, text }
      return [{ ...crossing, type: 'alert.budget_refused' as const }]
    }),
  )
  return found.flat()
}

/** The person who made a key, with their limits in its account; undefined for one who has left it. */
async function findMember(db: Kysely<Tables>, key: Tables['api_keys']) {
  const row = await db
    .selectFrom('members')
    .innerJoin('people', 'people.id', 'person_id')
    .selectAll('members')
    .select('name')
    .where('account_id', '=', key.account_id)
    .where('person_id', '=', key.created_by)
    .executeTakeFirst()
  return row && { ...row, id: memberOwner(row.account_id, row.person_id) }
}

/** Accounts that spend far more in this hour than in the same hours before. */
async function unusual({ db, accounts, now }: Reading): Promise<Crossing[]> {
  const startsAt = now - (now % hourMs)
  const hours = [startsAt, startsAt - dayMs, startsAt - 7 * dayMs]
  const { rows } = await sql<{ id: string; name: string; hour_at: number; nano_usd: number }>`
    select id, name, hour_at, cast(sum(cost_nano_usd) as bigint) as nano_usd
    from usage_hours join accounts on id = account_id
    where account_id in ${accounts} and mode = 'live' and hour_at in (${sql.join(hours)})
    group by id, name, hour_at`.execute(db)
  return rows.flatMap(({ id, name, hour_at: at, nano_usd: spent }) => {
    if (at !== startsAt || spent <= unusualFloorNanoUsd) return []
    const before = hours.slice(1).map((hour) => {
      return rows.find((one) => one.id === id && one.hour_at === hour)?.nano_usd ?? 0
    })
    if (before.some((one) => spent <= one * unusualFactor)) return []
    const [yesterday, weekAgo] = before.map(usd)
    const text = `The account '${name}' has spent ${usd(spent)} since ${timeText(startsAt)}. The same whole hour cost ${yesterday} yesterday and ${weekAgo} a week ago.`
    const about = { accountId: id, subject: id, page: '/overview' }
    const endsAt = startsAt + hourMs
    return [{ ...about, type: 'alert.spending_unusual' as const, startsAt, endsAt, text }]
  })
}

type Named = Pick<Owner, 'owner_id' | 'account_id' | 'name'>

function aboutBudget(row: Named, budget: BudgetState) {
  const page = pages[kindIn(row)](row)
  return { accountId: row.account_id, subject: row.owner_id, page, budget }
}

function kindIn({ account_id: accountId, owner_id: ownerId }: Omit<Named, 'name'>): OwnerKind {
  return kindOf({ accountId, ownerId })
}

const pages: Readonly<Record<OwnerKind, (row: Named) => string>> = {
  account: () => '/overview',
  key: ({ owner_id: id }) => `/keys/${id}`,
  member: () => '/settings/members',
  tag: ({ owner_id: id }) => `/keys/${tagIn(id).keyOwner}`,
}

function whose(row: Named): string {
  const kind = kindIn(row)
  if (kind === 'tag') return `the API key '${row.name}' for the tag '${tagIn(row.owner_id).tag}'`
  return `the ${kind === 'key' ? 'API key' : kind} '${row.name}'`
}

function spentText({ spent, amount, left, period, renews_at: renewal }: BudgetState): string {
  const [used, all, rest] = [spent, amount, left].map(({ nano_usd }) => usd(nano_usd))
  const per = period === 'total' ? 'in total' : `per ${period}`
  const then = renewal === null ? 'It does not renew' : `It renews at ${timeText(renewal)}`
  return `${used} of ${all} ${per} is spent, ${rest} is left. ${then}.`
}

/** At least cents, and two significant digits of less. */
function usd(nanoUsd: number): string {
  const dollars = Number(moneyOf(nanoUsd).usd)
  const isSmall = dollars > 0 && dollars < 1
  return `$${isSmall ? Number(dollars.toPrecision(2)) : dollars.toFixed(2)}`
}

function timeText(at: number | string): string {
  return `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
