import type { Schemas } from '../../data/api.ts'
import { addressOf, place, setQuery } from '../../data/place.ts'
import { InputField } from '../../elements/field.tsx'
import { ChoiceFilter, ClearFilters } from '../../elements/filters.tsx'
import { Form } from '../../elements/form.tsx'
import { MeasuredOver } from '../../elements/health.tsx'
import { VendorMark } from '../../elements/vendor-mark.tsx'
import { Since, StateMark, stateOf, states, type Provider, type State } from './state.tsx'

const filters = ['q', 'state'] as const
const order = Object.keys(states) as State[]

/** All providers as cards: the configured ones, those that need attention first, and the others. */
export function ProviderGrid({ list: { data, measured } }: { list: Schemas['ProviderList'] }) {
  const { query } = place.value
  const words = (query.get('q') ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const state = query.get('state') ?? ''
  const found = data
    .filter((one) => ['', stateOf(one)].includes(state))
    .filter(({ id, name, base_url: address }) => {
      const text = `${id} ${name} ${address ?? ''}`.toLowerCase()
      return words.every((word) => text.includes(word))
    })
    .toSorted((one, other) => order.indexOf(stateOf(one)) - order.indexOf(stateOf(other)))
  const configured = found.filter(({ is_configured: isConfigured }) => isConfigured)
  const others = found.filter(({ is_configured: isConfigured }) => !isConfigured)
  return (
    <>
      {data.every((one) => !one.is_configured) && (
        <p class="card">
          No provider is configured yet. Test keys work without one, in the sandbox. To call real
          models, open a vendor below and add its API key.
        </p>
      )}
      <Filters />
      <Cards title="Configured" providers={configured} />
      {configured.length > 0 && <MeasuredOver measured={measured} />}
      <Cards title="Not configured" providers={others} />
      {found.length === 0 && (
        <p class="quiet" role="status">
          Nothing matches. <ClearFilters names={filters} />
        </p>
      )}
    </>
  )
}

function Filters() {
  return (
    <Form class="provider-search" role="search" aria-label="Providers" send={() => undefined}>
      <InputField
        label="Search"
        type="search"
        value={place.value.query.get('q') ?? ''}
        placeholder="Name or address"
        spellcheck={false}
        onInput={(event) => setQuery({ q: event.currentTarget.value })}
      />
      <ChoiceFilter name="state" label="State" all="any" choices={Object.entries(states)} />
    </Form>
  )
}

function Cards({ title, providers }: { title: string; providers: readonly Provider[] }) {
  if (providers.length === 0) return null
  return (
    <section aria-label={title}>
      <h2 class="provider-group">
        {title} <span class="quiet">{providers.length}</span>
      </h2>
      <ul class="provider-grid">
        {providers.map((provider) => (
          <li key={provider.id}>
            <a class="provider-card" href={addressOf(`/providers/${provider.id}`)}>
              <VendorMark id={provider.id} />
              <span class="provider-name">{provider.name}</span>
              <StateMark provider={provider} />
              <span class="provider-since quiet">
                <Since provider={provider} />
              </span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}
