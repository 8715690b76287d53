import { useState } from 'preact/hooks'
import { bodyOf, GET, POST, type Schemas } from '../../data/api.ts'
import { useAct, useLoad } from '../../data/load.ts'
import { addressOf } from '../../data/place.ts'
import { Snippet } from '../../elements/copy.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Circuit, Health, Latency, MeasuredOver } from '../../elements/health.tsx'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { Said, useSaid } from '../../elements/said.tsx'
import { KeyForm, StoredKeys } from './keys.tsx'
import { StoredSettings } from './stored-settings.tsx'
import './providers.css'

type Provider = Schemas['ProviderReport']

const pollMs = 15_000

/** The operators' page: configured providers with their health, and providers that could be configured. */
export function Page() {
  const providers = useLoad('providers', (signal) => bodyOf(GET('/api/providers', { signal })), {
    everyMs: pollMs,
  })
  const [said, say] = useSaid()
  const onDone = (text: string) => {
    say(text)
    providers.again()
  }
  const [reloaded, setReloaded] = useState<Schemas['Reload']>()
  const reloading = useAct(async () => {
    setReloaded(undefined)
    setReloaded(await bodyOf(POST('/api/reload')))
    providers.again()
  })
  return (
    <>
      <div class="head">
        <h1>Providers</h1>
        <button
          type="button"
          class="plain"
          disabled={reloading.isBusy}
          onClick={() => void reloading.run()}
        >
          {reloading.isBusy ? 'Reloading…' : 'Reload the settings'}
        </button>
      </div>
      <Failure error={reloading.error} />
      <p class="hint" role="status">
        {reloaded !== undefined && reloadText(reloaded)}
      </p>
      <Said said={said} />
      <WhenLoaded loaded={providers} what="Loading the providers">
        {(report) => <Report report={report} onDone={onDone} />}
      </WhenLoaded>
    </>
  )
}

type ReportProps = { report: Schemas['ProviderList']; onDone: (said: string) => void }

function Report({ report: { data, measured }, onDone }: ReportProps) {
  const configured = data.filter(({ is_configured: isConfigured }) => isConfigured)
  const others = data.filter(({ is_configured: isConfigured }) => !isConfigured)
  return (
    <>
      {configured.length === 0 ? (
        <div class="card empty">
          <h2>No provider is configured yet</h2>
          <p>
            Test keys work without one, in the sandbox. To call real models, add the API key of one
            of the vendors below.
          </p>
        </div>
      ) : (
        configured.map((provider) => (
          <Configured key={provider.id} provider={provider} onDone={onDone} />
        ))
      )}
      {configured.length > 0 && <MeasuredOver measured={measured} />}
      <Others providers={others} onDone={onDone} />
      <StoredSettings onDone={onDone} />
    </>
  )
}

/** Describes the result of a reload. */
function reloadText({ changed, needs_restart: waiting, notices }: Schemas['Reload']): string {
  const done = changed.length === 0 ? 'No setting has changed.' : `Changed: ${changed.join(', ')}.`
  const rest = waiting.length === 0 ? '' : ` Applies after a restart: ${waiting.join(', ')}.`
  return [done + rest, ...notices].join(' ')
}

type ProviderProps = { provider: Provider; onDone: (said: string) => void }

function Configured({ provider, onDone }: ProviderProps) {
  const { health } = provider
  return (
    <section class="card" aria-labelledby={`provider-${provider.id}`}>
      <div class="head">
        <h2 id={`provider-${provider.id}`}>{provider.name}</h2>
        <Health health={health} />
      </div>
      <dl class="facts">
        <dt>Models</dt>
        <dd>
          <a href={addressOf('/models', { provider: provider.id })}>{provider.models}</a>
          {provider.takes_any_model && ' in the catalog; others by name at the provider'}
        </dd>
        {provider.base_url !== null && (
          <>
            <dt>Base URL</dt>
            <dd>
              <code>{provider.base_url}</code>
            </dd>
          </>
        )}
        <dt>API key</dt>
        <dd>
          <KeySource provider={provider} />
        </dd>
        <dt>Attempts</dt>
        <dd>{health.attempts.toLocaleString('en-US')}</dd>
        <dt>Median / 95%</dt>
        <dd>
          <Latency health={health} />
        </dd>
        <dt>Last success</dt>
        <dd>
          <Time at={provider.last_success_at} never="none in the last hour" />
        </dd>
        <Failures provider={provider} />
      </dl>
      <StoredKeys provider={provider} onDone={onDone} />
      {provider.key_source !== 'environment' && (
        <details>
          <summary>{provider.keys.length === 0 ? 'Add a key' : 'Add another key'}</summary>
          <KeyForm provider={provider} onDone={onDone} />
        </details>
      )}
    </section>
  )
}

function Failures({ provider }: { provider: Provider }) {
  const { circuits, failures, last_failure: failure } = provider
  return (
    <>
      {failure !== null && (
        <>
          <dt>Last failure</dt>
          <dd>
            <Time at={failure.at} />: {causeText(failure.cause)}
            {failure.status !== null && ` (HTTP ${failure.status})`}, {failure.upstream_model}
          </dd>
        </>
      )}
      {failures.length > 0 && (
        <>
          <dt>Failures</dt>
          <dd>
            {failures.map(({ cause, attempts }) => `${causeText(cause)}: ${attempts}`).join(', ')}
          </dd>
        </>
      )}
      {circuits.length > 0 && (
        <>
          <dt>Paused</dt>
          <dd>
            {circuits.map(({ upstream_model: model, circuit, until }) => (
              <p key={model} class="row circuits">
                <code>{model}</code> <Circuit circuit={circuit} until={until} />
              </p>
            ))}
          </dd>
        </>
      )}
    </>
  )
}

function KeySource({ provider }: { provider: Provider }) {
  if (provider.key_source === 'store') return <>stored here</>
  if (provider.key_source === null) return <>none</>
  return provider.base_url_setting === null ? (
    <>
      in the variable that <code>{provider.setting}</code> in gateway.yaml names
    </>
  ) : (
    <>
      <code>{provider.setting}</code> in the environment
    </>
  )
}

const causes: Readonly<Record<string, string>> = {
  unreachable: 'unreachable',
  timeout: 'timed out',
  overloaded: 'overloaded',
  rate_limited: 'rate limit reached',
  out_of_credit: 'no credit left at the provider',
  credentials: 'API key rejected',
  not_found: 'model not found',
  malformed: 'invalid response',
}

/** Text for the cause of a failed attempt. */
function causeText(cause: string): string {
  return causes[cause] ?? cause.replaceAll('_', ' ')
}

type OthersProps = { providers: readonly Provider[]; onDone: (said: string) => void }

function Others({ providers, onDone }: OthersProps) {
  if (providers.length === 0) return null
  return (
    <section class="card">
      <h2>Not configured</h2>
      <p>
        Add an API key of a vendor here; calls use it at once. Or set the vendor's variable, in the
        environment or in the file <code>.env</code> in the working directory of the gateway. The
        button above reloads the file; changes of the environment need a restart. A variable takes
        precedence over keys that are added here.
      </p>
      <ul class="vendors">
        {providers.map((provider) => (
          <li key={provider.id}>
            <details>
              <summary>
                {provider.name}
                <span class="quiet">
                  {' '}
                  {provider.takes_any_model
                    ? 'any of its models'
                    : `${provider.models} ${provider.models === 1 ? 'model' : 'models'}`}
                </span>
              </summary>
              <KeyForm provider={provider} onDone={onDone} />
              <StoredKeys provider={provider} onDone={onDone} />
              <p class="hint">Or in the environment; separate several keys with commas:</p>
              <Snippet
                text={`${provider.setting}=your-key`}
                what={`the line for ${provider.name}`}
              />
              {provider.other_settings.length > 0 && (
                <p class="hint">{provider.other_settings.join(' and ')} has the same effect.</p>
              )}
              {provider.base_url_setting !== null && (
                <p class="hint">
                  <code>{provider.base_url_setting}</code> changes the base URL, for a proxy or a
                  region.
                </p>
              )}
            </details>
          </li>
        ))}
      </ul>
    </section>
  )
}
