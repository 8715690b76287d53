import { bodyOf, POST } from '../data/api.ts'
import { textsOf } from '../data/form.ts'
import { useAct } from '../data/load.ts'
import { enter, forget, signedIn } from '../data/session.ts'
import { useEntrance } from '../data/entrance.ts'
import { PasskeyButton } from './passkey-button.tsx'
import { SingleSignOn } from './single-sign-on.tsx'
import { Dialog } from '../elements/dialog.tsx'
import { Failure } from '../elements/failure.tsx'
import { Form } from '../elements/form.tsx'
import { PasswordField, PasswordOwner } from '../elements/password.tsx'

/** Asks the signed-in person for the password in a dialog above the page, whose fields keep their values. */
export function SignInAgain() {
  const { data } = useEntrance()
  const email = signedIn.value?.person.email ?? ''
  const signingIn = useAct(async (form: FormData) => {
    const { password = '' } = textsOf(form)
    enter(await bodyOf(POST('/api/sessions', { body: { email, password } })))
  })
  return (
    <Dialog title="Your session has ended" onClose={forget}>
      <p>
        It expired, or was ended elsewhere. Sign in again as <strong>{email}</strong>. What you
        typed on the page is kept.
      </p>
      <Failure error={signingIn.error} />
      <SingleSignOn label={data?.oidc_label} />
      <Form send={signingIn.run}>
        <PasswordOwner email={email} />
        <PasswordField name="password" />
        <p class="row">
          <button disabled={signingIn.isBusy}>Sign in again</button>
          <button type="button" class="plain" onClick={forget}>
            Sign in as another person
          </button>
        </p>
      </Form>
      <PasskeyButton areUsed={data?.passkeys} />
    </Dialog>
  )
}
