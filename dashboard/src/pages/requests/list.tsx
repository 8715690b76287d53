import { useEffect, useState } from 'preact/hooks'
import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { shortDuration } from '../../data/duration.ts'
import { placesOf, shortCount } from '../../data/money.ts'
import { useAct, useLoad } from '../../data/load.ts'
import { addressOf, place } from '../../data/place.ts'
import { accountQuery, mayAdminister } from '../../data/session.ts'
import { Money } from '../../elements/money.tsx'
import { More } from '../../elements/more.tsx'
import { Sketch } from '../../elements/sketch.tsx'
import { numbers, Table } from '../../elements/table.tsx'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { ExportButton } from './export.tsx'
import { Filters, filtersInPlace, isFiltered } from './filters.tsx'
import { Outcome } from './outcome.tsx'
import { RangeFilter } from './range.tsx'

type Call = Schemas['RequestRecord']
type Page = Schemas['RequestRecordList']

const pageRows = 50
/** Number of rows kept on the page; older rows are removed. */
const rowsMax = 500
const pollMs = 5000

const ask = (cursor?: string, signal?: AbortSignal) => {
  const filters = filtersInPlace()
  const query = { ...accountQuery(), ...filters, limit: pageRows, ...(cursor && { cursor }) }
  return bodyOf(GET('/api/requests', { params: { query }, ...(signal && { signal }) }))
}

/** Calls as they finish, newest first. */
export function RequestList() {
  const [isLive, setLive] = useState(true)
  return (
    <>
      <div class="range-bar row">
        <RangeFilter />
        <div class="row">
          <button
            type="button"
            class="plain small"
            aria-pressed={isLive}
            title={`Loads new requests every ${pollMs / 1000} s.`}
            onClick={() => setLive(!isLive)}
          >
            Auto-refresh
          </button>
          <ExportButton />
        </div>
      </div>
      <Filters />
      <Rows key={place.value.query.toString()} isLive={isLive} />
    </>
  )
}

/** Rows for one set of filters. */
function Rows({ isLive }: { isLive: boolean }) {
  const polling = isLive ? { everyMs: pollMs } : {}
  const newest = useLoad('requests', (signal) => ask(undefined, signal), polling)
  const [older, setOlder] = useState<readonly Call[]>([])
  const [last, setLast] = useState<Page>()
  const first = newest.data
  const { next_cursor: next, searched_until: until = null } = last ?? first ?? {}
  const archived = first?.archived_before ?? null
  useEffect(() => {
    if (first === undefined || last === undefined) return
    const olderIds = new Set(older.map(({ id }) => id))
    if (first.data.some(({ id }) => olderIds.has(id))) {
      // Rows that dropped out of the newest page are kept among the older rows.
      setOlder(merged(first.data, older).slice(0, rowsMax))
      return
    }
    // More rows arrived than a page holds, so rows in between are missing: start the list again.
    setOlder([])
    setLast(undefined)
  }, [first])
  const loading = useAct(async () => {
    const page = await ask(next ?? undefined)
    setOlder((rows) => merged(merged(first?.data ?? [], rows), page.data).slice(0, rowsMax))
    setLast(page)
  })
  const rows = merged(first?.data ?? [], older)
  const isFull = rows.length >= rowsMax
  return (
    <>
      <WhenLoaded loaded={newest} what="Loading the requests">
        {() => <Calls calls={rows} mayGoOn={until !== null} />}
      </WhenLoaded>
      {until !== null && isFiltered() && (
        <p class="hint">
          Searched back to <Time at={until} isWhole />.
        </p>
      )}
      <More more={next && !isFull ? loading : undefined}>Show older requests</More>
      {archived !== null && (
        <p class="hint">
          Requests before <Time at={archived} isWhole /> are archived. Usage still has their sums.
        </p>
      )}
      {isFull && (
        <p class="hint">The page is full. Choose an earlier time to see older requests.</p>
      )}
    </>
  )
}

/** Merges two lists, newest first, without duplicates. */
function merged(newer: readonly Call[], older: readonly Call[]): Call[] {
  const newerIds = new Set(newer.map(({ id }) => id))
  return [...newer, ...older.filter(({ id }) => !newerIds.has(id))]
}

const columns = [
  'When',
  'Outcome',
  'Model',
  'Key',
  numbers('Tokens'),
  numbers('Duration'),
  numbers('Cost'),
]

function Calls({ calls, mayGoOn }: { calls: readonly Call[]; mayGoOn: boolean }) {
  if (calls.length === 0) return isFiltered() ? <NoneFound mayGoOn={mayGoOn} /> : <NoneYet />
  const places = placesOf(calls.map(({ cost }) => cost.amount?.usd))
  return (
    <div class="card">
      <Table label="Requests" class="calls stacked" columns={columns} opens>
        {calls.map((call) => (
          <tr key={call.id}>
            <td class="at-end">
              <a href={addressOf(`/requests/${call.id}`)}>
                <Time at={call.at} />
              </a>
              <div class="hint minor whole">{clock.format(Date.parse(call.at))}</div>
            </td>
            <td>
              <Outcome call={call} />
            </td>
            <td class="first">
              {call.model}
              <div class="hint minor">
                {call.provider ??
                  call.attempts.at(-1)?.provider ??
                  (call.cache === 'hit' ? 'cache' : '–')}
              </div>
            </td>
            <td class="minor">{call.key_name ?? call.key_id}</td>
            <td class="number minor">
              <Made usage={call.usage} />
            </td>
            <td class="number minor">{shortDuration(call.duration_ms)}</td>
            <td class="number beside">
              <Cost call={call} places={places} />
            </td>
          </tr>
        ))}
      </Table>
    </div>
  )
}

/** Date and time to the second, in the reader's time zone. */
const clock = new Intl.DateTimeFormat('en', {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})

/** Input and output tokens of a call, or its pictures. */
function Made({ usage }: Pick<Call, 'usage'>) {
  const { images, input_tokens: input, output_tokens: output } = usage
  const tokens = `${shortCount(input)} input and ${shortCount(output)} output tokens`
  if (images > 0) {
    return <span title={tokens}>{images === 1 ? '1 picture' : `${images} pictures`}</span>
  }
  if (input + output === 0) return <span class="quiet">–</span>
  return <span title={tokens}>{shortCount(input + output)}</span>
}

/** Cost of a call; for a test key, the cost that a live key would have. */
function Cost({ call: { cost, mode }, places }: { call: Call; places: number }) {
  const amount = <Money usd={cost.amount?.usd} places={places} />
  if (mode === 'live') return amount
  return (
    <span class="quiet" title="Test keys are not charged. A live key would have cost this amount.">
      {amount} <span class="hint cause">test</span>
    </span>
  )
}

function NoneFound({ mayGoOn }: { mayGoOn: boolean }) {
  return (
    <div class="card empty">
      <h2>No request matches these filters</h2>
      <p>
        {mayGoOn
          ? 'None of the requests that were searched matches. Show older requests, or remove a filter.'
          : 'Remove a filter, or choose a longer range.'}
      </p>
    </div>
  )
}

function NoneYet() {
  return (
    <div class="card empty">
      <Sketch of="rows" />
      <h2>No requests yet</h2>
      <p>
        {mayAdminister.value ? (
          <>
            <a href={addressOf('/keys/new')}>Create a key</a> and run the command shown with it.
          </>
        ) : (
          'Call a model with a key of this account.'
        )}{' '}
        Each request appears here when it ends, with its cost.
      </p>
    </div>
  )
}
