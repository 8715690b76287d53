import { bodyOf, POST, type Schemas } from '../../data/api.ts'
import { useAct, useLoad } from '../../data/load.ts'
import { forgetToken } from '../../data/one-time-token.ts'
import { addressOf, go } from '../../data/place.ts'
import { chooseAccount, enter, leave, signedIn, type SignedIn } from '../../data/session.ts'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { newPasswordHint, PasswordField } from '../../elements/password.tsx'
import { useEntrance } from '../../data/entrance.ts'
import { SingleSignOn } from '../single-sign-on.tsx'
import { DoorForm } from './frame.tsx'
import { LinkDoor } from './link-door.tsx'
import { PersonNameField } from '../../elements/person-fields.tsx'

/** Accepts an invitation as a new person, with an existing password, or as the signed-in person. */
export function Invitation() {
  return <LinkDoor title="Accept the invitation">{(token) => <Offered token={token} />}</LinkDoor>
}

function Offered({ token }: { token: string }) {
  const offer = useLoad(`invitation ${token}`, (signal) =>
    bodyOf(POST('/api/invitations/describe', { body: { token }, signal })),
  )
  return (
    <>
      {offer.error !== undefined && (
        <p>
          If you have accepted it, <a href={addressOf('/')}>sign in</a>.
        </p>
      )}
      <WhenLoaded loaded={offer} what="Reading the invitation">
        {({ account_name: account, invited_by: by, email, role, expires_at: end }) => (
          <>
            <p>
              {by === null ? (
                'You are invited'
              ) : (
                <>
                  <strong>{by}</strong> invites you
                </>
              )}{' '}
              to <strong>{account}</strong>, as {roleNames[role]}, with the e-mail{' '}
              <strong>{email}</strong>. The invitation expires <Time at={end} />.
            </p>
            {signedIn.value ? (
              <ForSignedIn token={token} email={email} signedInAs={signedIn.value} />
            ) : (
              <ForStrangers token={token} />
            )}
          </>
        )}
      </WhenLoaded>
    </>
  )
}

const roleNames: Record<Schemas['Role'], string> = {
  member: 'a member',
  admin: 'an administrator',
  owner: 'an owner',
}

async function accept(body: { token: string; name?: string; password?: string }) {
  const entered = await bodyOf(POST('/api/invitations/accept', { body }))
  // The newest membership is the last in the list.
  const joined = entered.person.memberships.at(-1)
  forgetToken()
  if (joined !== undefined) chooseAccount(joined.account_id)
  go(addressOf('/welcome'), { replace: true })
  enter(entered)
}

function ForStrangers({ token }: { token: string }) {
  const { data } = useEntrance()
  const label = data?.oidc_label ?? undefined
  return (
    <>
      {label !== undefined && (
        <>
          <p>Sign in first, then open the link of the invitation again:</p>
          <SingleSignOn label={label} returnTo={addressOf('/welcome')} />
        </>
      )}
      {data?.password_sign_in !== 'closed' && (
        <DoorForm submit="Join" send={(filled) => accept({ token, ...filled })}>
          {(faultAt) => (
            <>
              <PersonNameField
                fault={faultAt('name')}
                hint="Not needed if you already have a password here."
                isRequired={false}
              />
              <PasswordField
                name="password"
                isNew
                hint={`Your existing password here, or a new one. ${newPasswordHint}`}
                fault={faultAt('password')}
              />
            </>
          )}
        </DoorForm>
      )}
    </>
  )
}

type SignedInProps = { token: string; email: string; signedInAs: SignedIn }

function ForSignedIn({ token, email: invited, signedInAs }: SignedInProps) {
  const { name, email } = signedInAs.person
  const leaving = useAct(leave)
  return (
    <>
      <p>
        You are signed in as <strong>{name}</strong> ({email})
        {email === invited
          ? ', and join as this person.'
          : '. This invitation is for another e-mail.'}
      </p>
      {email === invited && (
        <DoorForm submit="Join" send={() => accept({ token })}>
          {() => null}
        </DoorForm>
      )}
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
