import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { periodTexts } from '../../data/budget-periods.ts'
import { usePages } from '../../data/pages.ts'
import { useLoad } from '../../data/load.ts'
import { addressOf } from '../../data/place.ts'
import { accountQuery, mayAdminister, membership, signedIn } from '../../data/session.ts'
import { Failure } from '../../elements/failure.tsx'
import { RevokeKey } from '../../elements/key-acts.tsx'
import { KeyState } from '../../elements/key-state.tsx'
import { Money } from '../../elements/money.tsx'
import { More } from '../../elements/more.tsx'
import { Said, useSaid } from '../../elements/said.tsx'
import { Sketch } from '../../elements/sketch.tsx'
import { acts, numbers, Table } from '../../elements/table.tsx'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'

type ApiKey = Schemas['ApiKey']

/** Number of keys whose cost one request returns; the cost of each further key needs its own request. */
const keysMax = 100

/**
 * Applications connected with OAuth: all of the account for administrators, otherwise the signed-in
 * person's.
 */
export function Connections() {
  const connections = usePages(`connections ${mayAdminister.value}`, (page, signal) => {
    const query = { ...accountQuery(), kind: 'connection', ...page } as const
    return mayAdminister.value
      ? bodyOf(GET('/api/keys', { params: { query }, signal }))
      : bodyOf(GET('/api/me/connections', { params: { query: page }, signal }))
  })
  const details = useLoad('people and spending', askForDetails)
  const [said, say] = useSaid()
  const revoked = (text: string) => {
    say(text)
    connections.again()
  }
  return (
    <section class="card applications">
      <h2>{mayAdminister.value ? 'Connected by people' : 'Connected by you'}</h2>
      <Said said={said} />
      {connections.error === undefined && <Failure error={details.error} again={details.again} />}
      <WhenLoaded loaded={connections} what="Loading the connections">
        {(all) =>
          all.length === 0 ? (
            <NoneYet />
          ) : (
            <Table label="Connections" class="stacked" columns={columns}>
              {all.map((one) => (
                <Row key={one.id} connection={one} details={details.data} onRevoked={revoked} />
              ))}
            </Table>
          )
        }
      </WhenLoaded>
      <More more={connections.more} />
    </section>
  )
}

function NoneYet() {
  return (
    <div class="empty">
      <Sketch of="rows" />
      <h3>No connected applications yet</h3>
      <p>
        <a href={addressOf('/connect')}>Connect</a> shows how to add the gateway to an application.
        Each application appears here with its permissions and its cost.
      </p>
    </div>
  )
}

const columns = [
  'Application',
  'Allowed by',
  'Permissions',
  numbers('Spent this month'),
  'Last used',
  'State',
  acts,
]

type MostSpent = { byKey: ReadonlyMap<string, string>; isWhole: boolean }
type Details = { names: ReadonlyMap<string, string>; spent: MostSpent }
type RowProps = {
  connection: ApiKey
  details: Details | undefined
  onRevoked: (said: string) => void
}

function Row({ connection, details, onRevoked }: RowProps) {
  const { id, name, state } = connection
  return (
    <tr>
      <td class="first">
        {mayAdminister.value ? <a href={addressOf(`/keys/${id}`)}>{name}</a> : name}
        <p class="hint">{placeText(connection)}</p>
      </td>
      <td class="across">
        {whoText(connection, details)} <Time at={connection.created_at} />
      </td>
      <td class="across">{mayText(connection)}</td>
      <td class="number" data-head="Spent this month">
        <Spent id={id} most={details?.spent} />
      </td>
      <td class="at-end" data-head="Last used">
        <Time at={connection.last_used_at} />
      </td>
      <td class="beside">
        <KeyState state={state} />
      </td>
      <td class="act across">
        {state === 'active' && <Revoke connection={connection} onDone={onRevoked} />}
      </td>
    </tr>
  )
}

type RevokeProps = { connection: ApiKey; onDone: (said: string) => void }

function Revoke({ connection, onDone }: RevokeProps) {
  const { name } = connection
  return (
    <RevokeKey
      apiKey={connection}
      isOwn={!mayAdminister.value}
      button={{ text: 'Revoke…', class: 'danger small', label: `Revoke ${name}` }}
      onDone={onDone}
    >
      <p>
        Within two seconds all tokens of {name} stop working, and its running calls are aborted. To
        use it again, connect it and allow it again.
      </p>
    </RevokeKey>
  )
}

/** Cost of a key in the current month; `most` holds the keys with the highest cost. */
function Spent({ id, most }: { id: string; most: MostSpent | undefined }) {
  if (most === undefined) return <NotYet />
  const usd = most.byKey.get(id) ?? (most.isWhole ? '0' : undefined)
  return usd === undefined ? <SpentWith id={id} /> : <Money usd={usd} />
}

function SpentWith({ id }: { id: string }) {
  const spent = useLoad(`spent ${id}`, (signal) => askForSpending({ key: id, limit: 1 }, signal))
  return spent.data === undefined ? <NotYet /> : <Money usd={spent.data.total.cost.usd} />
}

function NotYet() {
  return (
    <span class="quiet">
      <span aria-hidden="true">…</span>
      <span class="hidden">loading</span>
    </span>
  )
}

function placeText({ client }: ApiKey): string {
  const host = client?.redirect_host ?? null
  if (host === null) return ''
  return /^(?:localhost|127\.|\[::1\])/.test(host) ? 'on a person’s computer' : `at ${host}`
}

function whoText({ created_by: id }: ApiKey, details: Details | undefined): string {
  if (id === null) return 'with an API key'
  if (id === signedIn.value?.person.id) return 'you'
  return details?.names.get(id) ?? 'a person'
}

function mayText({ models, budget }: ApiKey): string {
  const what = models === null ? 'Call all models' : `Call ${models.join(', ')}`
  if (budget === null) return what
  return `${what}, for $${budget.amount.usd} ${periodTexts[budget.period]}`
}

type Chosen = { key: string; limit: 1 } | { group_by: ['key']; order_by: 'cost'; limit: number }

/** Usage since the start of the month (UTC). */
function askForSpending(chosen: Chosen, signal: AbortSignal) {
  const now = new Date()
  const from = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth())).toISOString()
  const query = { ...accountQuery(), from, ...chosen }
  return bodyOf(GET('/api/usage', { params: { query }, signal }))
}

/** Names of the members, and the cost of the keys with the highest cost. */
async function askForDetails(signal: AbortSignal): Promise<Details> {
  const usage = askForSpending({ group_by: ['key'], order_by: 'cost', limit: keysMax }, signal)
  const people =
    mayAdminister.value && (signedIn.value === undefined || membership.value !== undefined)
      ? bodyOf(GET('/api/members', { params: { query: { ...accountQuery() } }, signal }))
      : { data: [] }
  const [{ data: groups, next_cursor: next }, { data: members }] = await Promise.all([
    usage,
    people,
  ])
  return {
    names: new Map(members.map(({ id, name }) => [id, name])),
    spent: {
      byKey: new Map(groups.map(({ key, sums }) => [key ?? '', sums.cost.usd])),
      isWhole: next === null,
    },
  }
}
