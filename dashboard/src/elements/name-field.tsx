import { textLengths } from '../../../generated/client-values.ts'
import { Field } from './field.tsx'

type Props = {
  label?: string
  hint?: string
  /** Current name. */
  name?: string | undefined
  fault?: string | undefined
}

/** A field for the name of a key, a client or an account. */
export function NameField({ label = 'Name', hint, name = '', fault }: Props) {
  return (
    <Field label={label} hint={hint} fault={fault}>
      {(attributes) => (
        <input
          {...attributes}
          name="name"
          required
          maxLength={textLengths.DisplayName.max}
          defaultValue={name}
        />
      )}
    </Field>
  )
}
