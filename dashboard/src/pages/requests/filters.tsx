import {
  CacheOutcomeValues,
  CallModalityValues,
  CallOutcomeValues,
  ErrorCodeValues,
  FaceValues,
  FailureKindValues,
  ModeValues,
} from '../../../../generated/client-values.ts'
import type { paths } from '../../../../generated/client-types.ts'
import { bodyOf, GET } from '../../data/api.ts'
import { useLoad } from '../../data/load.ts'
import { place, setQuery } from '../../data/place.ts'
import { accountQuery, mayAdminister } from '../../data/session.ts'
import { Failure } from '../../elements/failure.tsx'
import { Field, type FieldAttributes } from '../../elements/field.tsx'
import { ChoiceFilter, ClearFilters, isFilteredBy, type Choice } from '../../elements/filters.tsx'

type Query = NonNullable<paths['/api/requests']['get']['parameters']['query']>

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

// On a narrow screen, open filters would hide the requests.
const isWide = matchMedia('(min-width: 48rem)').matches

/** The filters, whose values are in the address. */
export function Filters() {
  const count = names.filter((name) => chosen(name) !== '').length
  return (
    <details class="card filters" open={count > 0 && isWide}>
      <summary>{count === 0 ? 'Filters' : `Filters (${count})`}</summary>
      <div class="columns">
        <ChoiceFilter
          all="all"
          name="outcome"
          label="Outcome"
          choices={worded(CallOutcomeValues)}
        />
        <ChoiceFilter all="all" name="error_code" label="Error" choices={worded(ErrorCodeValues)} />
        <ChoiceFilter
          all="all"
          name="failure"
          label="Provider failure"
          choices={worded(FailureKindValues)}
        />
        <Text name="failed_provider" label="Provider that failed" />
        <Text name="model" label="Model" />
        <Text name="provider" label="Provider that answered" />
        {mayAdminister.value ? <KeyAndMember /> : <Text name="key_id" label="Key id" />}
        <ChoiceFilter all="all" name="cache" label="Cache" choices={worded(CacheOutcomeValues)} />
        <ChoiceFilter all="all" name="modality" label="Type" choices={worded(CallModalityValues)} />
        <ChoiceFilter all="all" name="face" label="Called through" choices={worded(FaceValues)} />
        <ChoiceFilter all="all" name="mode" label="Mode" choices={worded(ModeValues)} />
        <Text name="cost_above_usd" label="Cost above (dollars)" inputMode="decimal" />
        <Moment name="from" label="From" />
        <Moment name="to" label="Until" />
      </div>
      <ClearFilters names={names} />
    </details>
  )
}

function worded(values: readonly string[]): Choice[] {
  return values.map((value) => [value, value.replaceAll('_', ' ')])
}

type TextProps = { name: Name; label: string; inputMode?: 'decimal' }

function Text({ name, label, inputMode }: TextProps) {
  const more = inputMode === undefined ? {} : { inputMode }
  const input = (attributes: FieldAttributes) => (
    <input
      {...attributes}
      {...more}
      value={chosen(name)}
      onChange={(event) => setQuery({ [name]: event.currentTarget.value.trim() })}
    />
  )
  return <Field label={label}>{input}</Field>
}

const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone

/** A time in the reader's time zone; the address contains it in UTC. */
function Moment({ name, label }: { name: Name; label: string }) {
  const atMs = Date.parse(chosen(name))
  const local = Number.isNaN(atMs)
    ? ''
    : new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
  const change = (text: string) => {
    const date = new Date(text)
    setQuery({ [name]: Number.isNaN(date.getTime()) ? undefined : date.toISOString() })
  }
  return (
    <Field label={`${label} (${zone})`}>
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

/** Filters by key and by member, for readers who may list them. */
function KeyAndMember() {
  const loaded = useLoad('filters', async (signal) => {
    const query = { ...accountQuery(), limit: 100 }
    const [keys, members] = await Promise.all([
      bodyOf(GET('/api/keys', { params: { query }, signal })),
      bodyOf(GET('/api/members', { params: { query }, signal })),
    ])
    return {
      keys: keys.data.map(({ id, name }): Choice => [id, name]),
      people: members.data.map(({ id, name }): Choice => [id, name]),
    }
  })
  const { keys = [], people = [] } = loaded.data ?? {}
  return (
    <>
      <ChoiceFilter all="all" name="key_id" label="Key" choices={keys} />
      <ChoiceFilter all="all" name="member" label="Owner of the key" choices={people} />
      <Failure error={loaded.error} again={loaded.again} />
    </>
  )
}
