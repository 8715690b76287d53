import { bodyOf, POST } from '../../data/api.ts'
import { forgetToken, oneTimeToken } from '../../data/one-time-token.ts'
import { addressOf, go } from '../../data/place.ts'
import { enter } from '../../data/session.ts'
import { PasswordField } from '../../elements/password.tsx'
import { Door, DoorForm } from './frame.tsx'
import { NoToken } from './no-token.tsx'
import { EmailField, PersonNameField } from '../../elements/person-fields.tsx'

/** Makes the owner of the gateway, with the one-time link that the first start prints. */
export function SetUp() {
  const token = oneTimeToken()
  return (
    <Door title="Set up the gateway">
      {token === undefined ? (
        <NoToken />
      ) : (
        <>
          <p>You become its owner. This link works once.</p>
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
    </Door>
  )
}
