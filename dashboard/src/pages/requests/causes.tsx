import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { useLoad } from '../../data/load.ts'
import { shortCount } from '../../data/money.ts'
import { addressOf } from '../../data/place.ts'
import { modeInPlace, rangeInPlace } from '../../data/ranges.ts'
import { accountQuery } from '../../data/session.ts'
import { Refusals } from '../../elements/refusals.tsx'
import { useTitle } from '../../data/title.ts'
import { RangeChoice } from '../../elements/range-choice.tsx'
import { Sketch } from '../../elements/sketch.tsx'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'

type Cause = Schemas['RequestErrorCause']

const pollMs = 30_000

/** Failed calls by cause, with a remedy for each. */
export function Causes() {
  const range = rangeInPlace('day')
  const mode = modeInPlace()
  useTitle('Errors by cause')
  const causes = useLoad(
    `causes ${range.name} ${mode}`,
    (signal) => {
      const asked = { ...accountQuery(), ...range.now, mode } as const
      return bodyOf(GET('/api/requests/errors', { params: { query: asked }, signal }))
    },
    { everyMs: pollMs },
  )
  return (
    <>
      <div class="range-bar">
        <RangeChoice range={range} />
      </div>
      <Refusals mode={mode} range={range.now} withStrangers isOpen />
      <WhenLoaded loaded={causes} what="Loading errors">
        {(errors) => <List errors={errors} />}
      </WhenLoaded>
    </>
  )
}

function List({ errors }: { errors: Schemas['RequestErrors'] }) {
  if (errors.data.length === 0) {
    return (
      <div class="card empty">
        <Sketch of="rows" />
        <h2>No errors in this range</h2>
        <p>Failed calls appear here by cause, with a remedy.</p>
      </div>
    )
  }
  return (
    <>
      <ul class="causes">
        {errors.data.map((cause) => (
          <OneCause key={filtersOf(cause)} cause={cause} errors={errors} />
        ))}
      </ul>
      {errors.has_more && <p class="hint">The list shows only the most frequent causes.</p>}
    </>
  )
}

function OneCause({ cause, errors }: { cause: Cause; errors: Schemas['RequestErrors'] }) {
  const { failed_provider: provider, failure, meaning, remedy, calls } = cause
  const where = addressOf('/requests', {
    mode: errors.mode,
    error_code: cause.error_code,
    failed_provider: provider ?? undefined,
    failure: failure ?? undefined,
    from: errors.from,
    to: errors.to,
  })
  return (
    <li class="card">
      <div>
        <h2>
          <code>{cause.error_code}</code>
          {provider !== null && ` from ${provider}`}
        </h2>
        {meaning !== null && <p>{meaning}</p>}
        {remedy !== null && (
          <p>
            <strong>Remedy:</strong> {remedy}
          </p>
        )}
      </div>
      <div>
        <div class="count">
          {shortCount(calls)} <span class="quiet">{calls === 1 ? 'request' : 'requests'}</span>
        </div>
      </div>
      <p class="links">
        <span class="quiet">
          Last seen <Time at={cause.last_at} />
        </span>
        <a href={where}>Show these requests</a>
        <a href={addressOf(`/requests/${cause.last_request_id}`)}>Open the last request</a>
      </p>
    </li>
  )
}

function filtersOf({ error_code: code, failed_provider: provider, failure }: Cause): string {
  return `${code} ${provider} ${failure}`
}
