import { Fragment } from 'preact'
import type { Schemas } from '../../data/api.ts'
import { bodyOf, GET } from '../../data/api.ts'
import { shortDuration } from '../../data/duration.ts'
import { useLoad } from '../../data/load.ts'
import { addressOf } from '../../data/place.ts'
import { accountQuery, mayAdminister } from '../../data/session.ts'
import { useTitle } from '../../data/title.ts'
import { CopyButton, Snippet } from '../../elements/copy.tsx'
import { Table } from '../../elements/table.tsx'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { CostOfCall } from './cost.tsx'
import { Outcome } from './outcome.tsx'
import { replayAsCurl } from './replay.ts'
import { Said, Timeline } from './timeline.tsx'

type Call = Schemas['RequestRecord']

/** One call in full: attempts, adjusted parameters and the calculation of its cost. */
export function OneRequest({ id }: { id: string }) {
  const loaded = useLoad(`request ${id}`, (signal) =>
    bodyOf(GET('/api/requests/{id}', { params: { path: { id }, query: accountQuery() }, signal })),
  )
  useTitle(id)
  return (
    <>
      <div class="head">
        <h1>Request</h1>
        <a href={addressOf('/requests')}>All requests</a>
      </div>
      <WhenLoaded loaded={loaded} what="Loading the request">
        {(call) => (
          <>
            <Remedy call={call} />
            <About call={call} />
            <Timeline call={call} />
            <Warnings call={call} />
            <CostOfCall cost={call.cost} />
            <Replay call={call} />
          </>
        )}
      </WhenLoaded>
    </>
  )
}

function Remedy({ call }: { call: Call }) {
  if (call.outcome === 'ok' || call.error_code === null) return null
  const last = call.attempts.at(-1)
  return (
    <section class="card remedy">
      <h2>
        Failed with <code>{call.error_code}</code>
      </h2>
      {last !== undefined && <Said attempt={last} />}
      {call.remedy !== null && (
        <p>
          <strong>Remedy:</strong> {call.remedy}
        </p>
      )}
    </section>
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
          <Time at={call.at} isWhole />, took {shortDuration(call.duration_ms)}
        </dd>
        <dt>Key</dt>
        <dd>
          <KeyOf call={call} />
          {call.mode === 'test' && ' (test)'}
        </dd>
        <Models call={call} />
        <dt>Called through</dt>
        <dd>
          {call.face === 'mcp' ? 'a tool' : 'the API'}, for {call.modality}
        </dd>
        <dt>Cache</dt>
        <dd>{cacheWords[call.cache]}</dd>
        {call.tags.length > 0 && (
          <>
            <dt>Tags</dt>
            <dd class="row">
              {call.tags.map((tag) => (
                <a key={tag} href={addressOf('/requests', { tag })}>
                  {tag}
                </a>
              ))}
            </dd>
          </>
        )}
        <Usage usage={call.usage} />
      </dl>
    </section>
  )
}

const cacheWords: Record<Call['cache'], string> = {
  hit: 'hit',
  miss: 'miss',
  bypass: 'bypassed',
  replay: 'replayed from a cassette',
}

function KeyOf({ call }: { call: Call }) {
  const name = call.key_name ?? call.key_id
  if (!mayAdminister.value) return <>{name}</>
  return <a href={addressOf(`/keys/${call.key_id}`)}>{name}</a>
}

/** The requested model and the model that answered. */
function Models({ call }: { call: Call }) {
  const {
    asked_model: asked,
    model,
    provider,
    upstream_model: upstream,
    served_model: served,
  } = call
  return (
    <>
      <dt>Requested model</dt>
      <dd>
        <code>{asked}</code>
      </dd>
      {model !== asked && (
        <>
          <dt>Catalog model</dt>
          <dd>
            <code>{model}</code>
          </dd>
        </>
      )}
      {provider !== null && (
        <>
          <dt>Provider</dt>
          <dd>
            {provider}
            {upstream !== null && (
              <>
                , model <code>{upstream}</code>
              </>
            )}
          </dd>
        </>
      )}
      {served !== null && (
        <>
          <dt>Model that answered</dt>
          <dd>
            <code>{served}</code>
            {call.service_tier !== null && `, tier ${call.service_tier}`}
          </dd>
        </>
      )}
    </>
  )
}

const usageNames: Record<keyof Call['usage'], string> = {
  input_tokens: 'Input tokens',
  cached_input_tokens: '… of which cached by the provider',
  cache_write_tokens: "… of which written to the provider's cache",
  audio_input_tokens: '… of which audio',
  image_input_tokens: '… of which pictures',
  output_tokens: 'Output tokens',
  reasoning_tokens: '… of which reasoning',
  audio_output_tokens: '… of which audio',
  image_output_tokens: '… of which pictures',
  images: 'Pictures',
}

function Usage({ usage }: Pick<Call, 'usage'>) {
  const used = Object.entries(usage).filter(([, count]) => count > 0)
  return (
    <>
      {used.map(([name, count]) => (
        <Fragment key={name}>
          <dt>{usageNames[name as keyof Call['usage']]}</dt>
          <dd>{count.toLocaleString('en-US')}</dd>
        </Fragment>
      ))}
    </>
  )
}

function Warnings({ call: { warnings } }: { call: Call }) {
  if (warnings.length === 0) return null
  return (
    <section class="card">
      <h2>Adjusted parameters</h2>
      <Table label="Adjusted parameters" columns={['Parameter', 'Requested', 'Applied', 'Reason']}>
        {warnings.map(({ param, requested, applied, reason }, index) => (
          <tr key={index}>
            <td>
              <code>{param}</code>
            </td>
            <td>{valueText(requested, 'not recorded')}</td>
            <td>{valueText(applied, 'omitted')}</td>
            <td class="sentence">{reason}</td>
          </tr>
        ))}
      </Table>
    </section>
  )
}

function valueText(value: unknown, otherwise: string) {
  if (value === null || value === undefined) return <span class="quiet">{otherwise}</span>
  return <code>{JSON.stringify(value)}</code>
}

function Replay({ call }: { call: Call }) {
  return (
    <section class="card">
      <h2>Replay as curl</h2>
      <p class="quiet">
        The gateway stores neither the prompt nor the key: insert your own. Other options of the
        request are also missing.
      </p>
      <Snippet text={replayAsCurl(call, location.origin)} what="Replay as curl" />
    </section>
  )
}
