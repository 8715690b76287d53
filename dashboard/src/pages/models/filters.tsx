import { CallModalityValues } from '../../../../generated/client-values.ts'
import { abilityName } from '../../data/model-facts.ts'
import { place, setQuery } from '../../data/place.ts'
import { InputField } from '../../elements/field.tsx'
import { ChoiceFilter, ClearFilters } from '../../elements/filters.tsx'
import { Form } from '../../elements/form.tsx'
import { abilitiesOf, comparedPrice, type Entry } from './entries.ts'

const states = ['ready', 'deprecated', 'ended', 'all'] as const
const stateNames: Record<(typeof states)[number], string> = {
  ready: 'ready',
  deprecated: 'deprecated',
  ended: 'ended',
  all: 'all, also ended',
}

/** Names of the types of models. */
export const modalityNames = {
  chat: 'language',
  image: 'pictures',
  embedding: 'embeddings',
  moderation: 'moderations',
} as const
const names = ['q', 'type', 'provider', 'ability', 'price', 'state'] as const

/** The text of the search in the address. */
export const searchInPlace = (): string => (place.value.query.get('q') ?? '').trim()

/**
 * Entries that match the filters and the search in the address. Ended models match only when the filter asks
 * for them.
 */
export function filtered(entries: readonly Entry[], search = searchInPlace()): Entry[] {
  const { query } = place.value
  const chosen = (name: (typeof names)[number]) => query.get(name) ?? ''
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const most = chosen('price') === '' ? Infinity : Number(chosen('price'))
  const isAsked = (entry: Entry): boolean => {
    const { model, modality, routes } = entry
    const text = [model.id, model.name, model.family, ...(model.aliases ?? [])]
      .join(' ')
      .toLowerCase()
    return (
      words.every((word) => text.includes(word)) &&
      ['', modality].includes(chosen('type')) &&
      (chosen('provider') === '' ||
        routes.some(({ provider }) => provider === chosen('provider'))) &&
      (chosen('ability') === '' || abilitiesOf(entry).includes(chosen('ability'))) &&
      (most === Infinity || (comparedPrice(entry) ?? Infinity) <= most) &&
      hasState(entry, chosen('state'))
    )
  }
  return entries.filter(isAsked)
}

function hasState({ model: { status }, is_usable: isUsable }: Entry, state: string): boolean {
  if (state === 'all') return true
  if (state === 'ended') return status === 'deactivated'
  if (state === 'deprecated') return status === 'deprecated'
  if (state === 'ready') return isUsable
  return status !== 'deactivated'
}

/** Filters of the list; their values are in the query of the address. */
export function Filters({ entries }: { entries: readonly Entry[] }) {
  const { query } = place.value
  const routes = entries.flatMap((entry) => entry.routes)
  const providers = new Map(routes.map((one) => [one.provider, one.provider_name]))
  const abilities = [...new Set(entries.flatMap(abilitiesOf))]
  return (
    <Form class="card search" role="search" aria-label="Filters" send={() => undefined}>
      <InputField
        label="Search"
        type="search"
        value={query.get('q') ?? ''}
        placeholder="Any name of a model"
        spellcheck={false}
        onInput={(event) => setQuery({ q: event.currentTarget.value })}
      />
      <div class="columns narrow">
        <ChoiceFilter
          all="any"
          name="type"
          label="Type"
          choices={CallModalityValues.map((one) => [one, modalityNames[one]])}
        />
        <ChoiceFilter all="any" name="provider" label="Provider" choices={[...providers]} />
        <ChoiceFilter
          all="any"
          name="ability"
          label="Can"
          choices={abilities.map((one) => [one, abilityName(one)])}
        />
        <ChoiceFilter
          all="any"
          name="state"
          label="State"
          choices={states.map((one) => [one, stateNames[one]])}
        />
        <InputField
          label="Price at most"
          type="number"
          min={0}
          step="any"
          inputMode="decimal"
          placeholder="dollars"
          title="Dollars per picture, or per million output tokens"
          value={place.value.query.get('price') ?? ''}
          onInput={(event) => setQuery({ price: event.currentTarget.value })}
        />
      </div>
      <ClearFilters names={names} />
    </Form>
  )
}
