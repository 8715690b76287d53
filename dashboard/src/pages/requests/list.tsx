import { useEffect, useState } from 'preact/hooks'
import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { useAct, useLoad } from '../../data/load.ts'
import { addressOf, go, place } from '../../data/place.ts'
import { accountQuery } from '../../data/session.ts'
import { Failure } from '../../elements/failure.tsx'
import { Money } from '../../elements/money.tsx'
import { Time } from '../../elements/time.tsx'
import { Waiting } from '../../elements/waiting.tsx'
import { Filters, filtersInPlace } from './filters.tsx'

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
  const { query } = place.value
  const id = query.get('id')
  useEffect(() => {
    // What errors lead to, wherever the row is.
    if (id !== null) go(addressOf(`/requests/${encodeURIComponent(id)}`), { replace: true })
  }, [id])
  return (
    <>
      <div class="head">
        <h1>Requests</h1>
      </div>
      <Filters />
      <Rows key={query.toString()} />
    </>
  )
}

/** The rows of one set of filters. */
function Rows() {
  const newest = useLoad('requests', (signal) => ask(undefined, signal), { everyMs: pollMs })
  const [older, setOlder] = useState<readonly Call[]>([])
  const [cursor, setCursor] = useState<string | null>()
  const first = newest.data
  const next = cursor === undefined ? first?.next_cursor : cursor
  useEffect(() => {
    if (first === undefined || cursor === undefined) return
    // What the newest page has pushed out stays among the older ones.
    setOlder((rows) => merged(first.data, rows).slice(0, rowsMax))
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
      <Failure error={newest.error} again={newest.again} />
      {first === undefined ? (
        newest.isLoading && <Waiting what="Loading the requests" />
      ) : (
        <Table calls={rows} />
      )}
      <Failure error={loading.error} />
      {next && !isFull && (
        <button
          type="button"
          class="plain"
          disabled={loading.isBusy}
          onClick={() => void loading.run()}
        >
          {loading.isBusy ? 'Loading…' : 'Show older ones'}
        </button>
      )}
      {isFull && <p class="hint">Set the end of the range to see older ones.</p>}
    </>
  )
}

/** Both lists, the newest first, without those that both have. */
function merged(newer: readonly Call[], older: readonly Call[]): Call[] {
  const known = new Set(newer.map(({ id }) => id))
  return [...newer, ...older.filter(({ id }) => !known.has(id))]
}

function Table({ calls }: { calls: readonly Call[] }) {
  if (calls.length === 0) {
    return (
      <div class="card empty">
        <h2>Nothing has been called here</h2>
        <p>
          Calls appear as they end. <a href={addressOf('/keys/new')}>Create a key</a> and paste the
          line that it comes with, or take away a filter.
        </p>
      </div>
    )
  }
  return (
    <div class="card table" tabIndex={0} role="region" aria-label="Requests">
      <table>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">Outcome</th>
            <th scope="col">Model</th>
            <th scope="col">Provider</th>
            <th scope="col">Key</th>
            <th scope="col" class="number">
              Took
            </th>
            <th scope="col" class="number">
              Cost
            </th>
          </tr>
        </thead>
        <tbody>
          {calls.map((call) => (
            <tr key={call.id}>
              <td>
                <a href={addressOf(`/requests/${call.id}`)}>
                  <Time at={call.at} />
                </a>
              </td>
              <td>
                <Outcome call={call} />
              </td>
              <td>{call.model}</td>
              <td>{call.provider ?? (call.cache === 'hit' ? 'cache' : '–')}</td>
              <td>{call.key_name ?? call.key_id}</td>
              <td class="number">{tookText(call.duration_ms)}</td>
              <td class="number">
                <Money usd={call.cost.amount?.usd} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const looks: Record<Schemas['CallOutcome'], string> = {
  ok: 'good',
  failed: 'wrong',
  cancelled: '',
  unknown: 'warn',
}

/** How a call ended: the error's code where it failed. */
export function Outcome({ call }: { call: Pick<Call, 'outcome' | 'error_code' | 'cache'> }) {
  const text = call.cache === 'hit' ? 'cached' : (call.error_code ?? call.outcome)
  return <span class={`state ${looks[call.outcome]}`}>{text}</span>
}

/** A duration as people read it. */
export function tookText(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`
}
