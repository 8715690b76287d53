import { textLengths } from '../../../../generated/client-values.ts'
import { bodyOf, PATCH, POST, setCsrfToken } from '../../data/api.ts'
import { forgetToken } from '../../data/one-time-token.ts'
import { addressOf, go } from '../../data/place.ts'
import { enter, type SignedIn } from '../../data/session.ts'
import { InputField } from '../../elements/field.tsx'
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
            send={async ({ email = '', name = '', password = '', account = '' }) => {
              const body = { token, email, name, password }
              const entered = await bodyOf(POST('/api/setup', { body }))
              forgetToken()
              go(addressOf('/welcome'), { replace: true })
              enter(await withAccountNamed(account.trim(), entered))
            }}
          >
            {(faultAt) => (
              <>
                <EmailField autoComplete="username" fault={faultAt('email')} />
                <PersonNameField fault={faultAt('name')} />
                <PasswordField name="password" isNew fault={faultAt('password')} />
                <InputField
                  label="Company or team"
                  hint="Optional. The account gets this name, else yours."
                  name="account"
                  autoComplete="organization"
                  maxLength={textLengths.DisplayName.max}
                />
              </>
            )}
          </DoorForm>
        </>
      )}
    </LinkDoor>
  )
}

/** Names the first account. If that fails, the owner is signed in nevertheless, and may name it in Settings. */
async function withAccountNamed(given: string, entered: SignedIn): Promise<SignedIn> {
  const { person, csrf_token: csrfToken } = entered
  const [membership] = person.memberships
  // The name that the first start gives it.
  const name = given || (membership?.account_name === 'default' ? person.name : '')
  if (name === '' || membership === undefined || person.memberships.length > 1) return entered
  setCsrfToken(csrfToken)
  try {
    const params = { path: { id: membership.account_id } }
    await bodyOf(PATCH('/api/accounts/{id}', { params, body: { name } }))
  } catch {
    return entered
  }
  return { ...entered, person: { ...person, memberships: [{ ...membership, account_name: name }] } }
}
