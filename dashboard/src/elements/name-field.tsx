import { textLengths } from '../../../generated/client-values.ts'
import { InputField } from './field.tsx'

type Props = {
  label?: string
  hint?: string
  /** Current name. */
  name?: string | undefined
  fault?: string | undefined
}

/** A field for the name of a key, a client or an account. */
export function NameField({ label = 'Name', name = '', ...texts }: Props) {
  return (
    <InputField
      {...texts}
      label={label}
      name="name"
      required
      maxLength={textLengths.DisplayName.max}
      defaultValue={name}
    />
  )
}
