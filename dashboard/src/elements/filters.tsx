import { place, setQuery } from '../data/place.ts'
import { Field } from './field.tsx'

/** A value that can be chosen, and its name. */
export type Choice = readonly [value: string, text: string]

type ChoiceProps = {
  /** Its name in the address. */
  name: string
  label: string
  /** What is chosen while the address does not have it. */
  all: string
  choices: readonly Choice[]
}

/** A choice that the address keeps. */
export function ChoiceFilter({ name, label, all, choices }: ChoiceProps) {
  const chosen = place.value.query.get(name) ?? ''
  // What the address asks for is shown, also where nobody knows it.
  const isKnown = chosen === '' || choices.some(([value]) => value === chosen)
  const unknown: Choice[] = isKnown ? [] : [[chosen, chosen]]
  return (
    <Field label={label}>
      {(attributes) => (
        <select
          {...attributes}
          onChange={(event) => setQuery({ [name]: event.currentTarget.value })}
        >
          {[['', all] as const, ...unknown, ...choices].map(([value, text]) => (
            <option key={value} value={value} selected={value === chosen}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

/** Whether the address has one of these. */
export function isFilteredBy(names: readonly string[]): boolean {
  return names.some((name) => place.value.query.get(name))
}

type ClearProps = { names: readonly string[]; children?: string }

/** Takes these out of the address, where it has one of them. */
export function ClearFilters({ names, children = 'Clear the filters' }: ClearProps) {
  if (!isFilteredBy(names)) return null
  const none = Object.fromEntries(names.map((name) => [name, undefined]))
  return (
    <button type="button" class="plain small" onClick={() => setQuery(none)}>
      {children}
    </button>
  )
}
