import { useEffect, useRef, useState } from 'preact/hooks'
import {
  CacheOutcomeValues,
  CallModalityValues,
  CallOutcomeValues,
  ErrorCodeValues,
  FaceValues,
  FailureKindValues,
  ModeValues,
} from '../../../../generated/client-values.ts'
import { bodyOf, GET, type Paths } from '../../data/api.ts'
import { useLoad } from '../../data/load.ts'
import { chosenIn, place, setQuery } from '../../data/place.ts'
import { accountQuery, mayAdminister } from '../../data/session.ts'
import { Failure } from '../../elements/failure.tsx'
import { Icon } from '../../elements/icon.tsx'
import {
  ChoiceFilter,
  ClearFilters,
  isFilteredBy,
  TextFilter,
  type Choice,
} from '../../elements/filters.tsx'
import { ExactTimes, timesInPlace } from './range.tsx'

export type Query = NonNullable<Paths['/api/requests']['get']['parameters']['query']>

/** Query parameters of the filters. */
const names = [
  'mode',
  'outcome',
  'error_code',
  'failure',
  'failed_provider',
  'model',
  'provider',
  'face',
  'modality',
  'cache',
  'key_id',
  'member',
  'tag',
  'cost_above_usd',
] as const satisfies readonly (keyof Query)[]
type Name = (typeof names)[number]

/** The filters and the range in the address. */
export function filtersInPlace(): Query {
  return { ...chosenIn<Query>(names), ...timesInPlace() }
}

/** The filters in the address in words, without the range. */
export function filtersInWords(): string {
  return names
    .filter(chosen)
    .map((name) => `${labels[name].toLowerCase()}: ${chosen(name)}`)
    .join(', ')
}

/** Whether the address contains a filter or a range. */
export function isFiltered(): boolean {
  return isFilteredBy(names) || Object.keys(timesInPlace()).length > 0
}

function chosen(name: Name): string {
  return place.value.query.get(name) ?? ''
}

/** Filters that are shown also without a value. */
const usual: readonly Name[] = ['outcome', 'model', 'key_id']

const labels: Record<Name, string> = {
  mode: 'Mode',
  outcome: 'Outcome',
  error_code: 'Error',
  failure: 'Provider failure',
  failed_provider: 'Provider that failed',
  model: 'Model',
  provider: 'Provider that answered',
  face: 'Called through',
  modality: 'Type',
  cache: 'Cache',
  key_id: 'Key',
  member: 'Owner of the key',
  tag: 'Tag',
  cost_above_usd: 'Cost above (dollars)',
}

/** Values of the filters that offer a choice. */
const values: Partial<Record<Name, readonly string[]>> = {
  mode: ModeValues,
  outcome: CallOutcomeValues,
  error_code: ErrorCodeValues,
  failure: FailureKindValues,
  face: FaceValues,
  modality: CallModalityValues,
  cache: CacheOutcomeValues,
}

/** The filters in one line: the usual filters, those with a value and those added. Their values are in the address. */
export function Filters() {
  const [added, setAdded] = useState<readonly Name[]>([])
  const offered = names.filter((name) => name !== 'member' || mayAdminister.value)
  const isShown = (name: Name) =>
    usual.includes(name) || added.includes(name) || chosen(name) !== ''
  const shown = [...usual, ...offered.filter((name) => !usual.includes(name))].filter(isShown)
  return (
    <div class="filters" role="group" aria-label="Filters">
      <ExactTimes />
      {shown.map((name) => (
        <Filter
          key={name}
          name={name}
          isNew={added.at(-1) === name}
          onRemove={() => {
            setAdded(added.filter((one) => one !== name))
            setQuery({ [name]: undefined })
          }}
        />
      ))}
      <select
        class="small"
        aria-label="Add a filter"
        onChange={({ currentTarget }) => {
          const name = offered.find((one) => one === currentTarget.value)
          currentTarget.value = ''
          if (name !== undefined) setAdded([...added.filter((one) => one !== name), name])
        }}
      >
        <option value="">Add a filter</option>
        {offered
          .filter((name) => !isShown(name))
          .map((name) => (
            <option key={name} value={name}>
              {labels[name]}
            </option>
          ))}
      </select>
      <ClearFilters names={names} />
    </div>
  )
}

type FilterProps = { name: Name; isNew: boolean; onRemove: () => void }

function Filter({ name, isNew, onRemove }: FilterProps) {
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (isNew) element.current?.querySelector<HTMLElement>('input, select')?.focus()
  }, [isNew])
  const isSet = chosen(name) !== ''
  return (
    <div ref={element} class={isSet ? 'filter set' : 'filter'}>
      <Control name={name} />
      {(isSet || !usual.includes(name)) && (
        <button
          type="button"
          class="plain"
          aria-label={`Remove the filter “${labels[name]}”`}
          onClick={onRemove}
        >
          <Icon name="close" />
        </button>
      )}
    </div>
  )
}

function Control({ name }: { name: Name }) {
  const label = labels[name]
  const isListed = name === 'key_id' || name === 'member'
  if (isListed && mayAdminister.value) return <Listed name={name} label={label} />
  const choices = values[name]
  if (choices === undefined) {
    return <TextFilter name={name} label={label} isAmount={name === 'cost_above_usd'} />
  }
  return <ChoiceFilter all="all" name={name} label={label} choices={worded(choices)} />
}

function worded(values: readonly string[]): Choice[] {
  return values.map((value) => [value, value.replaceAll('_', ' ')])
}

/** A filter by key or by person, for readers who may list them. */
function Listed({ name, label }: { name: 'key_id' | 'member'; label: string }) {
  const loaded = useLoad(`filter ${name}`, async (signal): Promise<Choice[]> => {
    const params = { query: { ...accountQuery(), limit: 100 } }
    const list =
      name === 'key_id'
        ? await bodyOf(GET('/api/keys', { params, signal }))
        : await bodyOf(GET('/api/members', { params, signal }))
    return list.data.map((one) => [one.id, one.name])
  })
  return (
    <>
      <ChoiceFilter all="all" name={name} label={label} choices={loaded.data ?? []} />
      <Failure error={loaded.error} again={loaded.again} />
    </>
  )
}
