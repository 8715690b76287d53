import type { ComponentChildren } from 'preact'
import type { Schemas } from '../../data/api.ts'
import { addressOf } from '../../data/place.ts'
import { DialogButton } from '../../elements/dialog-button.tsx'
import { Head } from '../../elements/head.tsx'
import { Circuit, Latency, MeasuredOver } from '../../elements/health.tsx'
import { Time } from '../../elements/time.tsx'
import { VendorMark } from '../../elements/vendor-mark.tsx'
import { EntryForm } from './entry-form.tsx'
import { keyForm, StoredKeys } from './keys.tsx'
import { causeText, modelsText, Since, StateMark, stateOf, type Provider } from './state.tsx'

type Props = { id: string; list: Schemas['ProviderList']; onDone: (said: string) => void }

/** One provider: its state, its last hour and its keys. */
export function OneProvider({ id, list: { data, measured }, onDone }: Props) {
  const provider = data.find((one) => one.id === id)
  return (
    <>
      <Head title={provider?.name ?? id}>
        <a href={addressOf('/providers')}>All providers</a>
      </Head>
      {provider === undefined ? (
        <p>There is no provider with this id.</p>
      ) : (
        <>
          <section class="card" aria-labelledby="provider-state">
            <div class="provider-head">
              <VendorMark id={id} />
              <h2 id="provider-state">State</h2>
              <StateMark provider={provider} />
              {stateOf(provider) !== 'unused' && (
                <span class="quiet">
                  <Since provider={provider} />
                </span>
              )}
            </div>
            <Facts provider={provider} />
          </section>
          {provider.is_configured && <MeasuredOver measured={measured} />}
          <Keys provider={provider} onDone={onDone} />
        </>
      )}
    </>
  )
}

/** A term and its description; undefined for what does not apply. */
type Fact = readonly [string, ComponentChildren] | undefined

function Facts({ provider }: { provider: Provider }) {
  const { health, circuits, failures, last_failure: failure } = provider
  const facts: Fact[] = [
    [
      'Models',
      <>
        <a href={addressOf('/models', { provider: provider.id })}>{modelsText(provider)}</a>
        {provider.takes_any_model && `, ${provider.models} in the catalog`}
      </>,
    ],
    provider.base_url === null ? undefined : ['Base URL', <code>{provider.base_url}</code>],
    ['Attempts', health.attempts.toLocaleString('en-US')],
    ['Median / 95%', <Latency health={health} />],
    ['Last success', <Time at={provider.last_success_at} never="none in the last hour" />],
    failure === null
      ? undefined
      : [
          'Last failure',
          <>
            <Time at={failure.at} />: {causeText(failure.cause)}
            {failure.status !== null && ` (HTTP ${failure.status})`}, {failure.upstream_model}
          </>,
        ],
    failures.length === 0
      ? undefined
      : ['Failures', failures.map((one) => `${causeText(one.cause)}: ${one.attempts}`).join(', ')],
    ...circuits.map(({ upstream_model: model, circuit, until }): Fact => [
      'Paused',
      <>
        <code>{model}</code> <Circuit circuit={circuit} until={until} />
      </>,
    ]),
  ]
  const shown = provider.is_configured ? facts : facts.slice(0, 2)
  return (
    <dl class="facts provider-facts">
      {shown.map((fact) => fact && [<dt>{fact[0]}</dt>, <dd>{fact[1]}</dd>])}
    </dl>
  )
}

type KeysProps = { provider: Provider; onDone: (said: string) => void }

function Keys({ provider, onDone }: KeysProps) {
  const { key_source: source, setting, other_settings: others, base_url_setting: base } = provider
  return (
    <section class="card" aria-labelledby="provider-keys">
      <div class="head">
        <h2 id="provider-keys">API keys</h2>
        {source !== 'environment' && (
          <DialogButton button={{ text: 'Add a key', class: '' }}>
            {(close) => <EntryForm {...keyForm(provider)} onClose={close} onDone={onDone} />}
          </DialogButton>
        )}
      </div>
      <StoredKeys provider={provider} onDone={onDone} />
      {setting === 'providers' ? (
        <p class="hint">A key that a variable in gateway.yaml holds takes precedence.</p>
      ) : (
        <p class="hint">
          {source === 'environment' ? 'The key is in ' : 'Or set '}
          <code>{[setting, ...others].join(' or ')}</code>
          {source !== 'environment' && ' in the environment or in .env'}; several keys are separated
          by commas, and take precedence over keys that are added here.{' '}
          {base !== null && `${base} changes the address.`}
        </p>
      )}
    </section>
  )
}
