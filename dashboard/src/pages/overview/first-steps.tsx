import { bodyOf, GET } from '../../data/api.ts'
import { anyModel, firstCall } from '../../data/curl.ts'
import { useLoad } from '../../data/load.ts'
import { shortCount } from '../../data/money.ts'
import { addressOf, setQuery } from '../../data/place.ts'
import { accountQuery, mayCreateKeys } from '../../data/session.ts'
import { Snippet } from '../../elements/copy.tsx'
import { Sketch } from '../../elements/sketch.tsx'
import type { Asked } from './split.ts'

/** First steps, shown while the range has no requests. */
export function FirstSteps({ mode }: Asked) {
  return (
    <section class="card first-steps">
      <Sketch of="bars" />
      <h2>
        {mode === 'test' ? 'No requests with test keys in this time' : 'No requests in this time'}
      </h2>
      <OtherKeys mode={mode} />
      <ol>
        <li>
          <FirstKey />
        </li>
        <li>
          <strong>Make a request.</strong>
          <p>Run the command shown with the new key, or this one with your key in it:</p>
          <Snippet text={firstCall(location.origin, anyModel)} what="a first request" />
        </li>
        <li>
          <strong>
            <a href={addressOf('/playground')}>Or open the playground</a>
          </strong>
          <p>Try models side by side, and see the price before each call.</p>
        </li>
      </ol>
      <p class="quiet">Then this page shows the cost by model and by key.</p>
    </section>
  )
}

function FirstKey() {
  if (mayCreateKeys.value) {
    return (
      <>
        <strong>
          <a href={addressOf('/keys/new')}>Create an API key</a>
        </strong>
        <p>Programs call the gateway with a key. A key can have its own limits and budget.</p>
      </>
    )
  }
  return (
    <>
      <strong>Ask for an API key.</strong>
      <p>Owners and administrators of this account create them.</p>
    </>
  )
}

/**
 * Number of requests with live keys on the page of test keys, and the reverse; a button shows those
 * requests.
 */
function OtherKeys({ mode }: Asked) {
  const other = mode === 'test' ? 'live' : 'test'
  const report = useLoad(`other keys ${other}`, (signal) =>
    bodyOf(
      GET('/api/usage', {
        params: { query: { ...accountQuery(), mode: other, limit: 1 } },
        signal,
      }),
    ),
  )
  const calls = report.data?.total.calls ?? 0
  if (calls === 0) return null
  return (
    <p>
      In the last 30 days there{' '}
      {calls === 1 ? 'was 1 request' : `were ${shortCount(calls)} requests`} with {other} keys.{' '}
      <button
        type="button"
        class="plain small"
        onClick={() => setQuery({ mode: mode === 'test' ? undefined : 'test' })}
      >
        Show {other} keys
      </button>
    </p>
  )
}
