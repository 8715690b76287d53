import type { ComponentChildren } from 'preact'
import {
  CallModalityValues,
  CallOutcomeValues,
  ErrorCodeValues,
  FaceValues,
  ModeValues,
} from '../../../../generated/client-values.ts'
import type { paths } from '../../../../generated/client-types.ts'
import { addressOf, go, place, setQuery } from '../../data/place.ts'
import { Field } from '../../elements/field.tsx'

type Query = NonNullable<paths['/api/requests']['get']['parameters']['query']>

/** What can be filtered by, each in the address. */
const names = [
  'mode',
  'outcome',
  'error_code',
  'model',
  'provider',
  'face',
  'modality',
  'key_id',
  'from',
  'to',
] as const satisfies readonly (keyof Query)[]

/** What the address asks for; the gateway judges what is in it. */
export function filtersInPlace(): Query {
  const { query } = place.value
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = query.get(name)
      return value === null || value === '' ? [] : [[name, value]]
    }),
  )
}

/** A request id pasted here opens its row, whatever the filters are. */
export function Filters() {
  const { query } = place.value
  const chosen = (name: string) => query.get(name) ?? ''
  const choice = (name: string, label: string, values: readonly string[], all = 'all') => (
    <Field label={label}>
      {(attributes) => (
        <select
          {...attributes}
          value={chosen(name)}
          onChange={(event) => setQuery({ [name]: event.currentTarget.value })}
        >
          <option value="">{all}</option>
          {values.map((value) => (
            <option key={value} value={value}>
              {value}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
  const text = (name: string, label: string) => (
    <Field label={label}>
      {(attributes) => (
        <input
          {...attributes}
          value={chosen(name)}
          onChange={(event) => setQuery({ [name]: event.currentTarget.value.trim() })}
        />
      )}
    </Field>
  )
  return (
    <div class="card">
      <FindRequest />
      <details open={names.some((name) => chosen(name) !== '')}>
        <summary>Filters</summary>
        <div class="columns">
          {choice('mode', 'Mode', ModeValues, 'live')}
          {choice('outcome', 'Outcome', CallOutcomeValues)}
          {choice('error_code', 'Error', ErrorCodeValues)}
          {choice('face', 'Face', FaceValues)}
          {choice('modality', 'Kind', CallModalityValues)}
          {text('model', 'Model')}
          {text('provider', 'Provider')}
          {text('key_id', 'Key id')}
          {text('from', 'From (UTC)')}
          {text('to', 'To (UTC)')}
        </div>
        <Cleared>
          <button type="button" class="plain small" onClick={() => go(addressOf('/requests'))}>
            Clear the filters
          </button>
        </Cleared>
      </details>
    </div>
  )
}

function Cleared({ children }: { children: ComponentChildren }) {
  return names.some((name) => place.value.query.has(name)) ? <p>{children}</p> : null
}

function FindRequest() {
  return (
    <form
      class="row find"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        const id = new FormData(event.currentTarget).get('id')
        if (typeof id === 'string' && id.trim() !== '') {
          go(addressOf(`/requests/${encodeURIComponent(id.trim())}`))
        }
      }}
    >
      <label class="hidden" for="find-request">
        Request id
      </label>
      <input
        id="find-request"
        name="id"
        placeholder="Paste a request id: req_…"
        spellcheck={false}
      />
      <button class="plain">Open</button>
    </form>
  )
}
