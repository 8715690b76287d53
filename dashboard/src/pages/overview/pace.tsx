import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { shortDuration } from '../../data/duration.ts'
import { useLoad } from '../../data/load.ts'
import { roughUsd, shortCount } from '../../data/money.ts'
import { addressOf } from '../../data/place.ts'
import type { RangeOfTime } from '../../data/ranges.ts'
import { accountQuery, mayAdminister, membership } from '../../data/session.ts'
import { Gauge } from '../../elements/gauge.tsx'
import { Money } from '../../elements/money.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'

type Budget = Schemas['BudgetState']
type Owned = { name: string; address: string; budget: Budget; usdPerDay: number }

const dayMs = 86_400_000
/** The days whose average is the pace. */
const paceDays = 7
/** The budgets listed; the others are further from their end. */
const budgetsMax = 4

/** What this month will cost, how long calls take, and how long budgets last at the pace of the last week. */
export function Pace({ range }: { range: RangeOfTime }) {
  const { from, to } = range.now
  const loaded = useLoad(`pace ${from} ${to} ${String(mayAdminister.value)}`, async (signal) => {
    const now = new Date()
    const monthAt = Date.UTC(now.getUTCFullYear(), now.getUTCMonth())
    const [month, week, latency, owners] = await Promise.all([
      usage({ from: new Date(monthAt).toISOString(), limit: 1 }, signal),
      usage(
        { from: sinceOf(now), group_by: ['key', 'member'], order_by: 'cost', limit: 100 },
        signal,
      ),
      bodyOf(
        GET('/api/usage/latency', { params: { query: { ...accountQuery(), from, to } }, signal }),
      ),
      mayAdminister.value ? ownersOf(signal) : undefined,
    ])
    return { now, month, week, latency, owners }
  })
  return (
    <WhenLoaded loaded={loaded} what="Loading the forecast">
      {({ now, month, week, latency, owners }) => (
        <section class="card pace" aria-label="Forecast, latency and budgets">
          <dl class="facts">
            <dt>This month</dt>
            <dd>
              <Money usd={month.total.cost.usd} isShort /> so far, about{' '}
              {roughUsd(forecastUsd(month, perDay(week.total), now))} at the pace of the last{' '}
              {paceDays} days
            </dd>
            <dt>Latency</dt>
            <dd>
              <Latency latency={latency} />
            </dd>
          </dl>
          {owners !== undefined &&
            budgetsOf(owners, week).map((one) => (
              <div key={one.budget.owner_id} class="pace-budget">
                <h2>
                  <a href={addressOf(one.address)}>{one.name}</a>
                </h2>
                <Gauge budget={one.budget} />
                <p class="hint">{endOf(one, now)}</p>
              </div>
            ))}
        </section>
      )}
    </WhenLoaded>
  )
}

type UsageQuery = {
  from: string
  group_by?: Schemas['UsageDimension'][]
  order_by?: 'cost'
  limit: number
}

function usage(query: UsageQuery, signal: AbortSignal) {
  return bodyOf(
    GET('/api/usage', { params: { query: { ...accountQuery(), ...query, mode: 'live' } }, signal }),
  )
}

function sinceOf(now: Date): string {
  return new Date(now.getTime() - paceDays * dayMs).toISOString()
}

async function ownersOf(signal: AbortSignal) {
  const id = membership.value?.account_id
  const page = { ...accountQuery(), limit: 100 }
  const query = { ...page, kind: 'key', state: 'active' } as const
  const [account, keys, members] = await Promise.all([
    id === undefined
      ? undefined
      : bodyOf(
          GET('/api/accounts/{id}', { params: { path: { id }, query: accountQuery() }, signal }),
        ),
    bodyOf(GET('/api/keys', { params: { query }, signal })),
    bodyOf(GET('/api/members', { params: { query: page }, signal })),
  ])
  return { account, keys: keys.data, members: members.data }
}

/** An estimate, so a number of dollars is exact enough. */
const perDay = ({ cost }: Schemas['UsageSums']) => Number(cost.usd) / paceDays

function forecastUsd(month: Schemas['UsageReport'], usdPerDay: number, now: Date): number {
  const endAt = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)
  return Number(month.total.cost.usd) + (usdPerDay * (endAt - now.getTime())) / dayMs
}

/** The budgets of the account, and of its keys and members, those with the smallest share left first. */
function budgetsOf(
  { account, keys, members }: Awaited<ReturnType<typeof ownersOf>>,
  week: Schemas['UsageReport'],
): Owned[] {
  const spentBy = (id: string) =>
    week.data
      .filter(({ key, member }) => key === id || member === id)
      .reduce((sum, { sums }) => sum + perDay(sums), 0)
  const own: Owned[] = [...keys, ...members].flatMap(({ object, id, name, budget }) => {
    if (budget === null) return []
    const ofMember = object === 'member'
    // A key that counts with another key has that key's budget.
    if (!ofMember && budget.owner_id !== id) return []
    const address = ofMember ? '/settings/members' : `/keys/${id}`
    return [{ name, address, budget, usdPerDay: spentBy(id) }]
  })
  const leftOf = ({ budget: { left, amount } }: Owned) => left.nano_usd / (amount.nano_usd || 1)
  const listed = own.toSorted((a, b) => leftOf(a) - leftOf(b)).slice(0, budgetsMax)
  if (account === undefined || account.budget === null) return listed
  const { budget } = account
  const whole = { name: 'The account', address: '/settings', budget }
  return [{ ...whole, usdPerDay: perDay(week.total) }, ...listed]
}

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })

/** When a budget ends at the pace of the last week. */
function endOf({ budget: { left, renews_at }, usdPerDay }: Owned, now: Date): string {
  if (left.nano_usd === 0) return 'Nothing is left: calls that cost anything wait or are refused.'
  if (usdPerDay === 0) return `Not used in the last ${paceDays} days.`
  const endAt = now.getTime() + (Number(left.usd) / usdPerDay) * dayMs
  if (renews_at !== null && endAt >= Date.parse(renews_at))
    return 'Lasts until it resets, at this pace.'
  if (endAt - now.getTime() > 366 * dayMs) return 'Lasts longer than a year, at this pace.'
  return `Spent about ${dates.format(endAt)}, at this pace.`
}

function Latency({ latency }: { latency: Schemas['LatencyReport'] }) {
  const { calls, median_ms: median, p95_ms: p95, is_whole: isWhole } = latency
  if (median === null || p95 === null) return <>no answered calls in this time</>
  return (
    <>
      median {shortDuration(median)}, 95% within {shortDuration(p95)} (
      {isWhole ? '' : 'the newest '}
      {shortCount(calls)} {calls === 1 ? 'call' : 'calls'})
    </>
  )
}
