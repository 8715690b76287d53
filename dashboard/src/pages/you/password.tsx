import { bodyOf, PUT } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { useAct } from '../../data/load.ts'
import { signedIn } from '../../data/session.ts'
import { Failure } from '../../elements/failure.tsx'
import { Form } from '../../elements/form.tsx'
import { PasswordField, PasswordOwner } from '../../elements/password.tsx'
import { Said, useSaid } from '../../elements/said.tsx'

/** Changes the password, which ends the other sessions. */
export function Password() {
  const [said, say] = useSaid()
  const changing = useAct(async (filled: FormData, form: HTMLFormElement) => {
    say(undefined)
    const { current = '', next = '' } = textsOf(filled)
    const body = { current_password: current, new_password: next }
    await bodyOf(PUT('/api/me/password', { body }))
    form.reset()
    say('Your password is changed, and you are signed out everywhere else.')
  })
  const isAtField = changing.error?.param?.endsWith('_password') === true
  return (
    <Form class="card" send={changing.run}>
      <h2>Password</h2>
      <Said said={said} />
      {!isAtField && <Failure error={changing.error} />}
      <PasswordOwner email={signedIn.value?.person.email} />
      <PasswordField
        label="Current password"
        name="current"
        fault={changing.faultAt('current_password')}
      />
      <PasswordField
        label="New password"
        name="next"
        isNew
        fault={changing.faultAt('new_password')}
      />
      <p class="hint">A new password signs you out everywhere else.</p>
      <p>
        <button disabled={changing.isBusy}>Change the password</button>
      </p>
    </Form>
  )
}
