import { bodyOf, POST } from '../../data/api.ts'
import { forgetToken } from '../../data/one-time-token.ts'
import { addressOf, go } from '../../data/place.ts'
import { enter } from '../../data/session.ts'
import { PasswordField } from '../../elements/password.tsx'
import { DoorForm } from './frame.tsx'
import { LinkDoor } from './link-door.tsx'
import { EmailField, PersonNameField } from '../../elements/person-fields.tsx'

/** Creates the owner of the gateway with the one-time link that the first start prints. */
export function SetUp() {
  return (
    <LinkDoor title="Set up the gateway">
      {(token) => (
        <>
          <p>Create the owner of this gateway. This link works once.</p>
          <DoorForm
            submit="Become the owner"
            send={async ({ email = '', name = '', password = '' }) => {
              const body = { token, email, name, password }
              const entered = await bodyOf(POST('/api/setup', { body }))
              forgetToken()
              go(addressOf('/welcome'), { replace: true })
              enter(entered)
            }}
          >
            {(faultAt) => (
              <>
                <EmailField autoComplete="username" fault={faultAt('email')} />
                <PersonNameField fault={faultAt('name')} />
                <PasswordField name="password" isNew fault={faultAt('password')} />
              </>
            )}
          </DoorForm>
        </>
      )}
    </LinkDoor>
  )
}
