import { textLengths } from '../../../generated/client-values.ts'
import { Field } from './field.tsx'

type Props = {
  label?: string
  hint?: string
  /** What it is called so far. */
  name?: string | undefined
  fault?: string | undefined
}

/** What a key, a service or an account is called. */
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
