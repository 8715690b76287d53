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
import { place, setQuery } from '../../data/place.ts'
import { accountQuery, mayAdminister } from '../../data/session.ts'
import { Failure } from '../../elements/failure.tsx'
import { Field, type FieldAttributes } from '../../elements/field.tsx'
import { Icon } from '../../elements/icon.tsx'
import { ChoiceFilter, ClearFilters, isFilteredBy, type Choice } from '../../elements/filters.tsx'

type Query = NonNullable<Paths['/api/requests']['get']['parameters']['query']>

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
  'from',
  'to',
] as const satisfies readonly (keyof Query)[]
type Name = (typeof names)[number]

/** The filters in the address, unchecked: the gateway validates them. */
export function filtersInPlace(): Query {
  return Object.fromEntries(names.flatMap((name) => (chosen(name) ? [[name, chosen(name)]] : [])))
}

/** Whether the address contains a filter. */
export function isFiltered(): boolean {
  return isFilteredBy(names)
}

function chosen(name: Name): string {
  return place.value.query.get(name) ?? ''
}

/** Filters that are shown also without a value. */
const usual: readonly Name[] = ['outcome', 'model', 'key_id']

const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone

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
  from: `From (${zone})`,
  to: `Until (${zone})`,
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
  if (name === 'from' || name === 'to') return <Moment name={name} label={label} />
  const isListed = name === 'key_id' || name === 'member'
  if (isListed && mayAdminister.value) return <Listed name={name} label={label} />
  const choices = values[name]
  if (choices === undefined) return <Text name={name} label={label} />
  return <ChoiceFilter all="all" name={name} label={label} choices={worded(choices)} />
}

function worded(values: readonly string[]): Choice[] {
  return values.map((value) => [value, value.replaceAll('_', ' ')])
}

type ControlProps = { name: Name; label: string }

function Text({ name, label }: ControlProps) {
  const input = (attributes: FieldAttributes) => (
    <input
      {...attributes}
      inputMode={name === 'cost_above_usd' ? 'decimal' : 'text'}
      placeholder="any"
      value={chosen(name)}
      onChange={(event) => setQuery({ [name]: event.currentTarget.value.trim() })}
    />
  )
  return <Field label={label}>{input}</Field>
}

/** A time in the reader's time zone; the address contains it in UTC. */
function Moment({ name, label }: ControlProps) {
  const atMs = Date.parse(chosen(name))
  const local = Number.isNaN(atMs)
    ? ''
    : new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
  const change = (text: string) => {
    const date = new Date(text)
    setQuery({ [name]: Number.isNaN(date.getTime()) ? undefined : date.toISOString() })
  }
  return (
    <Field label={label}>
      {(attributes) => (
        <input
          {...attributes}
          type="datetime-local"
          value={local}
          onChange={(event) => change(event.currentTarget.value)}
        />
      )}
    </Field>
  )
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
