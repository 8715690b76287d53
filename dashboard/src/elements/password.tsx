import { useState } from 'preact/hooks'
import { textLengths } from '../../../generated/client-values.ts'
import { Field } from './field.tsx'

/** Hint for a new password. */
export const newPasswordHint = `At least ${textLengths.NewPassword.min} characters of any kind. A sentence is a good choice.`

type Props = {
  label?: string
  name: string
  isNew?: boolean
  hint?: string
  fault?: string | undefined
}

/** A password field with a button that shows the password. */
export function PasswordField({ label = 'Password', name, isNew = false, ...texts }: Props) {
  const [isShown, setShown] = useState(false)
  const common = {
    name,
    autoComplete: isNew ? 'new-password' : 'current-password',
    minLength: isNew ? textLengths.NewPassword.min : 0,
    maxLength: textLengths.NewPassword.max,
    spellcheck: false,
    required: true,
  } as const
  return (
    <Field label={label} hint={isNew ? newPasswordHint : undefined} {...texts}>
      {(attributes) => (
        <span class="password">
          {isShown ? (
            <input {...attributes} {...common} type="text" />
          ) : (
            <input {...attributes} {...common} type="password" />
          )}
          <button
            type="button"
            class="plain small"
            aria-pressed={isShown}
            aria-label={`Show the ${label.toLowerCase()}`}
            onClick={() => setShown(!isShown)}
          >
            {isShown ? 'Hide' : 'Show'}
          </button>
        </span>
      )}
    </Field>
  )
}

/** A hidden user name field, from which password managers see whose password is asked for. */
export function PasswordOwner({ email = '' }: { email: string | undefined }) {
  return (
    <input
      type="text"
      class="hidden"
      autoComplete="username"
      tabIndex={-1}
      aria-hidden="true"
      readOnly
      value={email}
    />
  )
}
