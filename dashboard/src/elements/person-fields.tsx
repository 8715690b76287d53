import { textLengths } from '../../../generated/client-values.ts'
import { InputField } from './field.tsx'

type EmailProps = {
  hint?: string
  fault?: string | undefined
  /** Whether browsers may fill in the address that the person signs in with. */
  autoComplete: 'username' | 'off'
}

/** A field for the e-mail address that a person signs in with. */
export function EmailField(props: EmailProps) {
  return (
    <InputField
      {...props}
      label="E-mail"
      name="email"
      type="email"
      maxLength={textLengths.Email.max}
      required
    />
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
export function PersonNameField({ isRequired = true, name = '', ...texts }: NameProps) {
  return (
    <InputField
      {...texts}
      label="Name"
      name="name"
      autoComplete="name"
      maxLength={textLengths.PersonName.max}
      required={isRequired}
      defaultValue={name}
    />
  )
}
