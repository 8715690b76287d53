import { textLengths } from '../../../generated/client-values.ts'
import { Field } from './field.tsx'

type EmailProps = {
  hint?: string
  fault?: string | undefined
  /** Whether browsers may fill in the address that the person signs in with. */
  autoComplete: 'username' | 'off'
}

/** A field for the e-mail address that a person signs in with. */
export function EmailField({ hint, fault, autoComplete }: EmailProps) {
  return (
    <Field label="E-mail" hint={hint} fault={fault}>
      {(attributes) => (
        <input
          {...attributes}
          name="email"
          type="email"
          autoComplete={autoComplete}
          maxLength={textLengths.Email.max}
          required
        />
      )}
    </Field>
  )
}

type NameProps = {
  hint?: string
  fault?: string | undefined
  isRequired?: boolean
  /** Current name. */
  name?: string | undefined
}

/** A field for a person's name. */
export function PersonNameField({ hint, fault, isRequired = true, name = '' }: NameProps) {
  return (
    <Field label="Name" hint={hint} fault={fault}>
      {(attributes) => (
        <input
          {...attributes}
          name="name"
          autoComplete="name"
          maxLength={textLengths.PersonName.max}
          required={isRequired}
          defaultValue={name}
        />
      )}
    </Field>
  )
}
