import { bodyOf, POST } from '../../data/api.ts'
import { forgetToken } from '../../data/one-time-token.ts'
import { addressOf, go } from '../../data/place.ts'
import { enter } from '../../data/session.ts'
import { PasswordField } from '../../elements/password.tsx'
import { DoorForm } from './frame.tsx'
import { LinkDoor } from './link-door.tsx'

/** Sets a new password with a one-time link. */
export function NewPassword() {
  return (
    <LinkDoor title="Set a new password">
      {(token) => (
        <>
          <p>Setting it signs you in here, and signs you out everywhere else.</p>
          <DoorForm
            submit="Set the password"
            send={async ({ new_password = '' }) => {
              const body = { token, new_password }
              const entered = await bodyOf(POST('/api/password-links/use', { body }))
              forgetToken()
              go(addressOf('/'), { replace: true })
              enter(entered)
            }}
          >
            {(faultAt) => (
              <PasswordField
                name="new_password"
                label="New password"
                isNew
                fault={faultAt('new_password')}
              />
            )}
          </DoorForm>
        </>
      )}
    </LinkDoor>
  )
}
