import type { JSX } from 'preact'
import { Field, type Described } from './field.tsx'

/** A value that can be chosen, with its text unless the value is shown. */
export type Choice<Value extends string = string> = Value | readonly [value: Value, text: string]

type Props<Value extends string> = JSX.IntrinsicElements['select'] & {
  choices: readonly Choice<Value>[]
  chosen?: string | undefined
  onChoose?: (value: Value) => void
}

/** A select element; without `chosen` the first value is selected. */
export function Select<Value extends string>({
  choices,
  chosen,
  onChoose,
  ...attributes
}: Props<Value>) {
  return (
    <select {...attributes} onChange={(event) => onChoose?.(event.currentTarget.value as Value)}>
      {choices.map((choice) => {
        const [value, text] = typeof choice === 'string' ? [choice, choice] : choice
        return (
          <option key={value} value={value} selected={value === chosen}>
            {text}
          </option>
        )
      })}
    </select>
  )
}

/** A labelled select element. */
export function SelectField<Value extends string>({
  label,
  hint,
  fault,
  ...rest
}: Described & Props<Value>) {
  return (
    <Field {...{ label, hint, fault }}>
      {(attributes) => <Select {...attributes} {...rest} />}
    </Field>
  )
}

type TextareaProps = Described & JSX.IntrinsicElements['textarea']

/** A labelled field for several lines, with the attributes of its textarea. */
export function TextareaField({ label, hint, fault, ...rest }: TextareaProps) {
  return (
    <Field {...{ label, hint, fault }}>
      {(attributes) => <textarea {...attributes} {...rest} />}
    </Field>
  )
}
