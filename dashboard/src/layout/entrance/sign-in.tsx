import { bodyOf, POST, type Schemas } from '../../data/api.ts'
import { addressOf } from '../../data/place.ts'
import { enter } from '../../data/session.ts'
import { Snippet } from '../../elements/copy.tsx'
import { PasswordField } from '../../elements/password.tsx'
import { useEntrance } from '../../data/entrance.ts'
import { PasskeyButton } from '../passkey-button.tsx'
import { SingleSignOn } from '../single-sign-on.tsx'
import { Door, DoorForm } from './frame.tsx'
import { EmailField } from '../../elements/person-fields.tsx'

/** Signs a person in; the address stays, so that the requested page opens afterwards. */
export function SignIn() {
  const { data, error } = useEntrance()
  // The form waits for the answer, since it must not flash where passwords are closed.
  const hasPasswords = data === undefined ? error !== undefined : data.password_sign_in === 'open'
  return (
    <Door title="Sign in">
      {data?.is_set_up === false && <NotSetUp command={data.command} />}
      <SingleSignOn label={data?.oidc_label} />
      {hasPasswords && typeof data?.oidc_label === 'string' && (
        <p class="hint">Or with your password:</p>
      )}
      {hasPasswords && (
        <DoorForm
          submit="Sign in"
          send={async ({ email = '', password = '' }) =>
            enter(await bodyOf(POST('/api/sessions', { body: { email, password } })))
          }
        >
          {(faultAt) => (
            <>
              <EmailField autoComplete="username" fault={faultAt('email')} />
              <PasswordField name="password" fault={faultAt('password')} />
            </>
          )}
        </DoorForm>
      )}
      <PasskeyButton areUsed={data?.passkeys} />
      {hasPasswords && data !== undefined && <ForOthers entrance={data} />}
    </Door>
  )
}

function NotSetUp({ command }: { command: string }) {
  return (
    <div class="notice">
      <p>
        <strong>This gateway has no owner yet.</strong> Open the link that the gateway printed when
        it started. This command, run where the gateway runs, prints a new link:
      </p>
      <Snippet text={`${command} setup-link`} what="the command" />
    </div>
  )
}

function ForOthers({ entrance }: { entrance: Schemas['Entrance'] }) {
  const { command, sign_up: signUp } = entrance
  return (
    <>
      <details class="more">
        <summary>Forgot your password?</summary>
        <p>
          The gateway sends no mail. Ask an administrator of your account, or an operator of the
          gateway, for a link that sets a new password: the button <em>New password</em> is beside
          your name, in <em>Settings</em>, <em>Members</em>, or in <em>Accounts</em>.
        </p>
        <p>This command, run where the gateway runs with your e-mail address, prints the link:</p>
        <Snippet text={`${command} people password-link you@example.com`} what="the command" />
      </details>
      {signUp === 'open' && (
        <p class="hint">
          New here? <a href={addressOf('/sign-up')}>Create an account</a>
        </p>
      )}
      {signUp === 'closed' && (
        <p class="hint">New here? Ask an administrator of an account to invite you.</p>
      )}
    </>
  )
}
