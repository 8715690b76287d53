import { place, setQuery } from '../data/place.ts'
import { SelectField } from './controls.tsx'
import { InputField } from './field.tsx'

/** An option of a filter: its value and its text. */
export type Choice = readonly [value: string, text: string]

type ChoiceProps = {
  /** Name of the query parameter that holds the chosen option. */
  name: string
  label: string
  /** Text of the option that stands for no filter. */
  all: string
  choices: readonly Choice[]
}

/** A filter with fixed options; its value is a query parameter of the address. */
export function ChoiceFilter({ name, label, all, choices }: ChoiceProps) {
  const chosen = place.value.query.get(name) ?? ''
  // A value from the address that is not among the options is shown as it is written.
  const isKnown = chosen === '' || choices.some(([value]) => value === chosen)
  const unknown: Choice[] = isKnown ? [] : [[chosen, chosen]]
  return (
    <SelectField
      label={label}
      choices={[['', all], ...unknown, ...choices]}
      chosen={chosen}
      onChoose={(value) => setQuery({ [name]: value })}
    />
  )
}

type TextProps = Pick<ChoiceProps, 'name' | 'label'> & { isAmount?: boolean }

/** A filter with any text, which applies when the field is left or by Enter. */
export function TextFilter({ name, label, isAmount = false }: TextProps) {
  return (
    <InputField
      label={label}
      inputMode={isAmount ? 'decimal' : 'text'}
      placeholder="any"
      value={place.value.query.get(name) ?? ''}
      onChange={(event) => setQuery({ [name]: event.currentTarget.value.trim() })}
    />
  )
}

/** Whether the address contains one of these query parameters. */
export function isFilteredBy(names: readonly string[]): boolean {
  return names.some((name) => place.value.query.get(name))
}

type ClearProps = { names: readonly string[]; children?: string }

/** A button that removes these query parameters; hidden when the address has none of the parameters. */
export function ClearFilters({ names, children = 'Clear the filters' }: ClearProps) {
  if (!isFilteredBy(names)) return null
  const none = Object.fromEntries(names.map((name) => [name, undefined]))
  return (
    <button type="button" class="plain small" onClick={() => setQuery(none)}>
      {children}
    </button>
  )
}
