import { bodyOf, POST } from '../../data/api.ts'
import { useAct } from '../../data/load.ts'
import { forgetToken } from '../../data/one-time-token.ts'
import { addressOf, go } from '../../data/place.ts'
import { chooseAccount, enter, leave, signedIn, type SignedIn } from '../../data/session.ts'
import { newPasswordHint, PasswordField } from '../../elements/password.tsx'
import { DoorForm } from './frame.tsx'
import { LinkDoor } from './link-door.tsx'
import { PersonNameField } from '../../elements/person-fields.tsx'

/** Makes a member of who is invited: a new person, one with a password, or one who is signed in. */
export function Invitation() {
  return (
    <LinkDoor title="Accept the invitation">
      {(token) =>
        signedIn.value ? (
          <ForSignedIn token={token} signedInAs={signedIn.value} />
        ) : (
          <ForStrangers token={token} />
        )
      }
    </LinkDoor>
  )
}

async function accept(body: { token: string; name?: string; password?: string }) {
  const entered = await bodyOf(POST('/api/invitations/accept', { body }))
  // The account that was joined just now is the last one.
  const joined = entered.person.memberships.at(-1)
  forgetToken()
  if (joined !== undefined) chooseAccount(joined.account_id)
  go(addressOf('/welcome'), { replace: true })
  enter(entered)
}

function ForStrangers({ token }: { token: string }) {
  return (
    <>
      <p>You join an account of the gateway, with the e-mail that is invited.</p>
      <DoorForm submit="Join" send={(filled) => accept({ token, ...filled })}>
        {(faultAt) => (
          <>
            <PersonNameField
              fault={faultAt('name')}
              hint="Not needed if you have a password here already."
              isRequired={false}
            />
            <PasswordField
              name="password"
              isNew
              hint={`The one you have here, or a new one. ${newPasswordHint}`}
              fault={faultAt('password')}
            />
          </>
        )}
      </DoorForm>
    </>
  )
}

function ForSignedIn({ token, signedInAs }: { token: string; signedInAs: SignedIn }) {
  const { name, email } = signedInAs.person
  const leaving = useAct(leave)
  return (
    <>
      <p>
        You are signed in as <strong>{name}</strong> ({email}), and join with that.
      </p>
      <DoorForm submit="Join" send={() => accept({ token })}>
        {() => null}
      </DoorForm>
      <p class="more">
        <button
          type="button"
          class="plain"
          disabled={leaving.isBusy}
          onClick={() => void leaving.run()}
        >
          Sign out first
        </button>
      </p>
    </>
  )
}
