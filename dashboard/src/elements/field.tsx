import type { ComponentChildren, JSX } from 'preact'
import { useId } from 'preact/hooks'

/** Attributes that connect a control with its label, hint and error. */
export type FieldAttributes = {
  id: string
  'aria-describedby': string | undefined
  'aria-invalid': 'true' | undefined
}

type Props = {
  label: string
  hint?: ComponentChildren
  /** Error message for the value. */
  fault?: string | undefined
  children: (attributes: FieldAttributes) => ComponentChildren
}

/** A labelled control; `children` renders the control with the given attributes. */
export function Field({ label, hint, fault, children }: Props) {
  const id = useId()
  const descriptions = [hint !== undefined && `${id}-hint`, fault !== undefined && `${id}-fault`]
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        'aria-describedby': descriptions.filter(Boolean).join(' ') || undefined,
        'aria-invalid': fault === undefined ? undefined : 'true',
      })}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {fault !== undefined && (
        <p class="fault" id={`${id}-fault`}>
          {fault}
        </p>
      )}
    </div>
  )
}

/** Texts of a control. */
export type Described = Omit<Props, 'children'>
type InputProps = Described & JSX.IntrinsicElements['input']

/** A labelled input with its attributes. */
export function InputField({ label, hint, fault, ...rest }: InputProps) {
  return (
    <Field {...{ label, hint, fault }}>{(attributes) => <input {...attributes} {...rest} />}</Field>
  )
}
