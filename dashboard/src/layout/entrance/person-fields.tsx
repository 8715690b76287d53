import { textLengths } from '../../../../generated/client-values.ts'
import { Field } from '../../elements/field.tsx'

type Props = { fault: string | undefined; hint?: string; isRequired?: boolean }

/** The e-mail that somebody signs in with. */
export function EmailField({ fault }: Props) {
  return (
    <Field label="E-mail" fault={fault}>
      {(attributes) => (
        <input
          {...attributes}
          name="email"
          type="email"
          autoComplete="username"
          maxLength={textLengths.Email.max}
          required
        />
      )}
    </Field>
  )
}

/** What somebody is called. */
export function NameField({ fault, hint, isRequired = true }: Props) {
  return (
    <Field label="Name" hint={hint} fault={fault}>
      {(attributes) => (
        <input
          {...attributes}
          name="name"
          autoComplete="name"
          maxLength={textLengths.PersonName.max}
          required={isRequired}
        />
      )}
    </Field>
  )
}
