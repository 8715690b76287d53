import { textLengths } from '../../../generated/client-values.ts'
import { Field } from './field.tsx'

type EmailProps = {
  hint?: string
  fault?: string | undefined
  /** Whether browsers may fill in the one that somebody signs in with. */
  autoComplete: 'username' | 'off'
}

/** The e-mail that somebody signs in with, or is to. */
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
  /** What they are called so far. */
  name?: string | undefined
}

/** What somebody is called. */
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
