import { useState } from 'preact/hooks'
import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { usePages } from '../../data/pages.ts'
import { useLoad } from '../../data/load.ts'
import { addressOf } from '../../data/place.ts'
import { accountQuery, mayAdminister, membership, signedIn } from '../../data/session.ts'
import { Failure } from '../../elements/failure.tsx'
import { RevokeDialog } from '../../elements/key-dialogs.tsx'
import { KeyState } from '../../elements/key-state.tsx'
import { Money } from '../../elements/money.tsx'
import { Time } from '../../elements/time.tsx'
import { Waiting } from '../../elements/waiting.tsx'

type ApiKey = Schemas['ApiKey']

/** Of so many keys it is asked at once what was spent with them; of others one by one. */
const keysMax = 100

/** What people let act in their name: all of the account, or one's own. */
export function Connections() {
  const list = usePages(`connections ${mayAdminister.value}`, (cursor, signal) => {
    const query = cursor === undefined ? {} : { cursor }
    const passed = signal === undefined ? {} : { signal }
    return mayAdminister.value
      ? bodyOf(
          GET('/api/keys', {
            params: { query: { ...query, ...accountQuery(), kind: 'connection' } },
            ...passed,
          }),
        )
      : bodyOf(GET('/api/me/connections', { params: { query }, ...passed }))
  })
  const more = useLoad('people and spending', askForMore)
  const [ending, setEnding] = useState<ApiKey>()
  const [told, setTold] = useState<string>()
  return (
    <section class="card applications">
      <h2>{mayAdminister.value ? 'Connected by people' : 'Connected by you'}</h2>
      <p role="status" class="told">
        {told}
      </p>
      <Failure error={list.error} again={list.again} />
      {list.error === undefined && <Failure error={more.error} again={more.again} />}
      {list.items === undefined ? (
        list.isLoading && <Waiting what="Loading the connections" />
      ) : list.items.length === 0 ? (
        <p class="quiet">
          Nobody has connected an application yet. <a href={addressOf('/connect')}>Connect</a> tells
          how: an application is given an address, and its person says yes to it here.
        </p>
      ) : (
        <Table
          connections={list.items}
          more={more.data}
          onEnd={(one) => {
            setTold(undefined)
            setEnding(one)
          }}
        />
      )}
      {list.more !== undefined && (
        <button type="button" class="plain" onClick={list.more}>
          Show more
        </button>
      )}
      {ending !== undefined && (
        <RevokeDialog
          apiKey={ending}
          isOwn={!mayAdminister.value}
          onClose={() => setEnding(undefined)}
          onEnded={() => {
            setTold(`${ending.name} is revoked.`)
            setEnding(undefined)
            list.again()
          }}
        >
          <p>
            {ending.name} is refused within two seconds, with all of its tokens, and what it is
            doing is ended. Whoever wants it back connects it again and says yes once more.
          </p>
        </RevokeDialog>
      )}
    </section>
  )
}

type MostSpent = { byKey: ReadonlyMap<string, string>; isWhole: boolean }
type More = { names: ReadonlyMap<string, string>; spent: MostSpent }
type TableProps = {
  connections: readonly ApiKey[]
  more: More | undefined
  onEnd: (connection: ApiKey) => void
}

function Table({ connections, more, onEnd }: TableProps) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label="Connections">
      <table>
        <thead>
          <tr>
            <th scope="col">Application</th>
            <th scope="col">Said yes</th>
            <th scope="col">May</th>
            <th scope="col" class="number">
              Spent this month
            </th>
            <th scope="col">Last used</th>
            <th scope="col">State</th>
            <th scope="col">
              <span class="hidden">Act</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {connections.map((one) => (
            <tr key={one.id}>
              <td>
                {mayAdminister.value ? (
                  <a href={addressOf(`/keys/${one.id}`)}>{one.name}</a>
                ) : (
                  one.name
                )}
                <p class="hint">{placeText(one)}</p>
              </td>
              <td>
                {whoText(one, more)} <Time at={one.created_at} />
              </td>
              <td>{mayText(one)}</td>
              <td class="number">
                <Spent id={one.id} most={more?.spent} />
              </td>
              <td>
                <Time at={one.last_used_at} />
              </td>
              <td>
                <KeyState state={one.state} />
              </td>
              <td>
                {one.state === 'active' && (
                  <button
                    type="button"
                    class="danger small"
                    aria-label={`Revoke ${one.name}`}
                    onClick={() => onEnd(one)}
                  >
                    Revoke…
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** What was spent with a key since the month began; `most` has those that spent most. */
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
      <span class="hidden">not known yet</span>
    </span>
  )
}

function placeText({ client }: ApiKey): string {
  const host = client?.redirect_host ?? null
  if (host === null) return ''
  return /^(?:localhost|127\.|\[::1\])/.test(host) ? 'on somebody’s computer' : `at ${host}`
}

function whoText({ created_by: id }: ApiKey, more: More | undefined): string {
  if (id === null) return 'with an API key'
  if (id === signedIn.value?.person.id) return 'you'
  return more?.names.get(id) ?? 'a person'
}

function mayText({ models, budget }: ApiKey): string {
  const what = models === null ? 'Call all models' : `Call ${models.join(', ')}`
  if (budget === null) return what
  const period = { day: 'a day', month: 'a month', total: 'in all' }[budget.period]
  return `${what}, for $${budget.amount.usd} ${period}`
}

type Chosen = { key: string; limit: 1 } | { group_by: ['key']; order_by: 'cost'; limit: number }

/** What was used since the month began. */
function askForSpending(chosen: Chosen, signal: AbortSignal) {
  const now = new Date()
  const from = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth())).toISOString()
  const query = { ...accountQuery(), from, ...chosen }
  return bodyOf(GET('/api/usage', { params: { query }, signal }))
}

/** Who the people are, and what was spent with the keys that spent most. */
async function askForMore(signal: AbortSignal): Promise<More> {
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
