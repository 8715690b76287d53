import { useEffect, useState } from 'preact/hooks'
import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { shortDuration } from '../../data/duration.ts'
import { placesOf } from '../../data/money.ts'
import { useAct, useLoad } from '../../data/load.ts'
import { addressOf, go, place } from '../../data/place.ts'
import { accountQuery, mayAdminister } from '../../data/session.ts'
import { Money } from '../../elements/money.tsx'
import { More } from '../../elements/more.tsx'
import { numbers, Table } from '../../elements/table.tsx'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { Filters, filtersInPlace, isFiltered } from './filters.tsx'
import { Outcome } from './outcome.tsx'

type Call = Schemas['RequestRecord']

const pageRows = 50
/** So many rows are kept on the page; older ones make room. */
const rowsMax = 500
const pollMs = 5000

const ask = (cursor?: string, signal?: AbortSignal) => {
  const filters = filtersInPlace()
  const query = { ...accountQuery(), ...filters, limit: pageRows, ...(cursor && { cursor }) }
  return bodyOf(GET('/api/requests', { params: { query }, ...(signal && { signal }) }))
}

/** The calls as they come in, the newest first. */
export function RequestList() {
  return (
    <>
      <Filters />
      <Rows key={place.value.query.toString()} />
    </>
  )
}

/** The rows of one set of filters. */
function Rows() {
  const [isLive, setLive] = useState(true)
  const polling = isLive ? { everyMs: pollMs } : {}
  const newest = useLoad('requests', (signal) => ask(undefined, signal), polling)
  const [older, setOlder] = useState<readonly Call[]>([])
  const [cursor, setCursor] = useState<string | null>()
  const first = newest.data
  const next = cursor === undefined ? first?.next_cursor : cursor
  useEffect(() => {
    if (first === undefined || cursor === undefined) return
    const known = new Set(older.map(({ id }) => id))
    if (first.data.some(({ id }) => known.has(id))) {
      // What the newest page has pushed out stays among the older ones.
      setOlder(merged(first.data, older).slice(0, rowsMax))
      return
    }
    // More has come than a page holds: what is between is not known, and the list begins anew.
    setOlder([])
    setCursor(undefined)
  }, [first])
  const loading = useAct(async () => {
    const page = await ask(next ?? undefined)
    setOlder((rows) => merged(merged(first?.data ?? [], rows), page.data).slice(0, rowsMax))
    setCursor(page.next_cursor)
  })
  const rows = merged(first?.data ?? [], older)
  const isFull = rows.length >= rowsMax
  return (
    <>
      <div class="row live views">
        <button
          type="button"
          class="plain small"
          aria-pressed={isLive}
          onClick={() => setLive(!isLive)}
        >
          {isLive ? 'Live' : 'Paused'}
        </button>
        <span class="quiet">
          {isLive
            ? `Looks for new requests every ${pollMs / 1000} s.`
            : 'New requests are not shown.'}
        </span>
      </div>
      <WhenLoaded loaded={newest} what="Loading the requests">
        {() => <Calls calls={rows} mayGoOn={Boolean(next)} />}
      </WhenLoaded>
      <More more={next && !isFull ? loading : undefined}>Show older ones</More>
      {isFull && <p class="hint">Set the end of the range to see older ones.</p>}
    </>
  )
}

/** Both lists, the newest first, without those that both have. */
function merged(newer: readonly Call[], older: readonly Call[]): Call[] {
  const known = new Set(newer.map(({ id }) => id))
  return [...newer, ...older.filter(({ id }) => !known.has(id))]
}

const columns = ['When', 'Outcome', 'Model', 'Provider', 'Key', numbers('Took'), numbers('Cost')]

function Calls({ calls, mayGoOn }: { calls: readonly Call[]; mayGoOn: boolean }) {
  if (calls.length === 0) return isFiltered() ? <NoneFound mayGoOn={mayGoOn} /> : <NoneYet />
  const places = placesOf(calls.map(({ cost }) => cost.amount?.usd))
  return (
    <div class="card">
      <Table label="Requests" class="calls" columns={columns}>
        {calls.map((call) => (
          <tr key={call.id} onClick={(event) => open(event, call)}>
            <td>
              <a href={addressOf(`/requests/${call.id}`)}>
                <Time at={call.at} />
              </a>
            </td>
            <td>
              <Outcome call={call} />
            </td>
            <td>
              <div class="shortly" title={call.model}>
                {call.model}
              </div>
            </td>
            <td>{call.provider ?? (call.cache === 'hit' ? 'cache' : '–')}</td>
            <td>
              <div class="shortly" title={call.key_name ?? undefined}>
                {call.key_name ?? call.key_id}
              </div>
            </td>
            <td class="number">{shortDuration(call.duration_ms)}</td>
            <td class="number">
              <Cost call={call} places={places} />
            </td>
          </tr>
        ))}
      </Table>
    </div>
  )
}

/** Opens a request for a click anywhere in its row, which has a link for the keyboard; a text stays selectable. */
function open({ target }: MouseEvent, { id }: Call): void {
  const isLink = (target as Element).closest('a') !== null
  if (!isLink && getSelection()?.isCollapsed !== false) go(addressOf(`/requests/${id}`))
}

/** What it cost; of a test key, what it would have. */
function Cost({ call: { cost, mode }, places }: { call: Call; places: number }) {
  const amount = <Money usd={cost.amount?.usd} places={places} />
  if (mode === 'live') return amount
  return (
    <span class="quiet" title="Test keys are not charged: this is what it would have cost.">
      test, {amount}
    </span>
  )
}

function NoneFound({ mayGoOn }: { mayGoOn: boolean }) {
  return (
    <div class="card empty">
      <h2>No request passes these filters</h2>
      <p>
        {mayGoOn
          ? 'None of the newest 10,000 does. Look among older ones, or take away a filter.'
          : 'Take away a filter, or ask for a longer time.'}
      </p>
    </div>
  )
}

function NoneYet() {
  return (
    <div class="card empty">
      <h2>Nothing has been requested yet</h2>
      <p>
        {mayAdminister.value ? (
          <>
            <a href={addressOf('/keys/new')}>Create a key</a> and paste the line that it comes with.
          </>
        ) : (
          'Use a key of this account.'
        )}{' '}
        Each request appears here when it ends, with what it cost and why.
      </p>
    </div>
  )
}
