import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { useLoad } from '../../data/load.ts'
import { exactUsd } from '../../data/money.ts'
import { addressOf } from '../../data/place.ts'
import { accountQuery } from '../../data/session.ts'
import { CopyButton } from '../../elements/copy.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Money } from '../../elements/money.tsx'
import { Time } from '../../elements/time.tsx'
import { Waiting } from '../../elements/waiting.tsx'
import { Outcome, tookText } from './list.tsx'

type Call = Schemas['RequestRecord']

/** One call in full: who answered, what was tried, and the arithmetic of its cost. */
export function OneRequest({ id }: { id: string }) {
  const call = useLoad(`request ${id}`, (signal) =>
    bodyOf(GET('/api/requests/{id}', { params: { path: { id }, query: accountQuery() }, signal })),
  )
  return (
    <>
      <div class="head">
        <h1>Request</h1>
        <a href={addressOf('/requests')}>All requests</a>
      </div>
      <Failure error={call.error} again={call.again} />
      {call.data === undefined ? (
        call.isLoading && <Waiting what="Loading the request" />
      ) : (
        <>
          <About call={call.data} />
          <Attempts call={call.data} />
          <Cost call={call.data} />
        </>
      )}
    </>
  )
}

function About({ call }: { call: Call }) {
  return (
    <section class="card">
      <dl class="facts">
        <dt>Id</dt>
        <dd class="row">
          <code>{call.id}</code>
          <CopyButton text={call.id} what="the request id" />
        </dd>
        <dt>Outcome</dt>
        <dd>
          <Outcome call={call} />
        </dd>
        <dt>When</dt>
        <dd>
          <Time at={call.at} />, took {tookText(call.duration_ms)}
        </dd>
        <dt>Key</dt>
        <dd>
          <a href={addressOf(`/keys/${call.key_id}`)}>{call.key_name ?? call.key_id}</a>,{' '}
          {call.mode}
        </dd>
        <dt>Model</dt>
        <dd>{call.model}</dd>
        {call.upstream_model !== null && (
          <>
            <dt>Asked of {call.provider ?? 'the provider'}</dt>
            <dd>{call.upstream_model}</dd>
          </>
        )}
        {call.served_model !== null && (
          <>
            <dt>Served by</dt>
            <dd>
              {call.served_model}
              {call.service_tier !== null && `, tier ${call.service_tier}`}
            </dd>
          </>
        )}
        <dt>Came by</dt>
        <dd>
          {call.face}, {call.modality}
        </dd>
        <dt>Cache</dt>
        <dd>{call.cache}</dd>
        <Usage usage={call.usage} />
      </dl>
    </section>
  )
}

const usageNames: Record<keyof Call['usage'], string> = {
  input_tokens: 'Input tokens',
  cached_input_tokens: '… of these cached by the provider',
  cache_write_tokens: "… written to the provider's cache",
  audio_input_tokens: '… of sound',
  image_input_tokens: '… of pictures',
  output_tokens: 'Output tokens',
  reasoning_tokens: '… of these thought',
  audio_output_tokens: '… of sound',
  image_output_tokens: '… of pictures',
  images: 'Pictures',
}

function Usage({ usage }: Pick<Call, 'usage'>) {
  const used = Object.entries(usage).filter(([, count]) => count > 0)
  return (
    <>
      {used.map(([name, count]) => (
        <>
          <dt>{usageNames[name as keyof Call['usage']]}</dt>
          <dd>{count.toLocaleString('en-US')}</dd>
        </>
      ))}
    </>
  )
}

function Attempts({ call }: { call: Call }) {
  if (call.attempts.length === 0) return null
  const most = Math.max(...call.attempts.map(({ duration_ms: ms }) => ms), 1)
  return (
    <section class="card">
      <h2>What was tried</h2>
      <ol class="attempts">
        {call.attempts.map((attempt, index) => (
          <li key={index}>
            <span>
              {attempt.provider} <span class="quiet">{attempt.upstream_model}</span>
            </span>
            <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
              <rect
                class={attempt.outcome === 'ok' ? 'series-1' : 'gauge-full'}
                width={Math.max((attempt.duration_ms / most) * 100, 1)}
                height="4"
              />
            </svg>
            <span>
              {attempt.outcome}
              {attempt.status !== null && ` (${attempt.status})`}, {tookText(attempt.duration_ms)}
            </span>
          </li>
        ))}
      </ol>
    </section>
  )
}

function Cost({ call: { cost } }: { call: Call }) {
  return (
    <section class="card">
      <h2>
        Cost: <Money usd={cost.amount?.usd} />
      </h2>
      {cost.lines === null || cost.lines.length === 0 ? (
        <p class="quiet">
          {cost.status === 'cached'
            ? 'The cache answered: nothing was paid.'
            : cost.status === 'unknown'
              ? 'No price is known for it.'
              : 'Nothing was paid for.'}
        </p>
      ) : (
        <Lines cost={cost} />
      )}
      {!cost.is_charged && <p class="quiet">Test keys are not charged.</p>}
    </section>
  )
}

function Lines({ cost }: { cost: Call['cost'] }) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label="Cost">
      <table>
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col" class="number">
              Units
            </th>
            <th scope="col" class="number">
              Price of one
            </th>
            <th scope="col" class="number">
              Amount
            </th>
          </tr>
        </thead>
        <tbody>
          {cost.lines?.map((line) => (
            <tr key={line.what}>
              <td>{line.what.replaceAll('_', ' ')}</td>
              <td class="number">{line.units.toLocaleString('en-US')}</td>
              <td class="number">${line.unit_price}</td>
              <td class="number">${line.amount}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row" colSpan={3}>
              Sum, rounded once to {cost.amount === null ? 'nothing' : exactUsd(cost.amount.usd)}
            </th>
            <td class="number">${cost.exact_usd}</td>
          </tr>
        </tfoot>
      </table>
    </div>
  )
}
