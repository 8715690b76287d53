import { bodyOf, POST } from '../../data/api.ts'
import { addressOf, go } from '../../data/place.ts'
import { enter } from '../../data/session.ts'
import { PasswordField } from '../../elements/password.tsx'
import { Door, DoorForm } from './frame.tsx'
import { EmailField, PersonNameField } from '../../elements/person-fields.tsx'

/** Creates a person with an account of their own, where the gateway allows sign-up. */
export function SignUp() {
  return (
    <Door title="Create an account">
      <DoorForm
        submit="Create the account"
        send={async ({ email = '', name = '', password = '' }) => {
          const body = { email, name, password }
          const entered = await bodyOf(POST('/api/people', { body }))
          go(addressOf('/welcome'), { replace: true })
          enter(entered)
        }}
      >
        {(faultAt) => (
          <>
            <EmailField autoComplete="username" fault={faultAt('email')} />
            <PersonNameField fault={faultAt('name')} hint="Your account gets the same name." />
            <PasswordField name="password" isNew fault={faultAt('password')} />
          </>
        )}
      </DoorForm>
      <p class="hint">
        Already have a password here? <a href={addressOf('/')}>Sign in</a>
      </p>
    </Door>
  )
}
