import { useRef, useState } from 'preact/hooks'
import { bodyOf, PUT } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { useAct } from '../../data/load.ts'
import { signedIn } from '../../data/session.ts'
import { Failure } from '../../elements/failure.tsx'
import { PasswordField } from '../../elements/password.tsx'
import { Said } from '../../elements/said.tsx'

/** Changes the password, which ends the other sessions. */
export function Password() {
  const form = useRef<HTMLFormElement>(null)
  const [said, setSaid] = useState<string>()
  const changing = useAct(async () => {
    setSaid(undefined)
    const { current = '', next = '' } = textsOf(new FormData(form.current!))
    const body = { current_password: current, new_password: next }
    await bodyOf(PUT('/api/me/password', { body }))
    form.current!.reset()
    setSaid('Your password is changed, and you are signed out everywhere else.')
  })
  const faultAt = (param: string) =>
    changing.error?.param === param ? changing.error.message : undefined
  const isAtField = changing.error?.param?.endsWith('_password') === true
  return (
    <form
      ref={form}
      class="card wide"
      onSubmit={(event) => {
        event.preventDefault()
        void changing.run()
      }}
    >
      <h2>Password</h2>
      <Said text={said} />
      {!isAtField && <Failure error={changing.error} />}
      <input
        type="text"
        class="hidden"
        autoComplete="username"
        tabIndex={-1}
        aria-hidden="true"
        readOnly
        value={signedIn.value?.person.email}
      />
      <PasswordField label="Current password" name="current" fault={faultAt('current_password')} />
      <PasswordField label="New password" name="next" isNew fault={faultAt('new_password')} />
      <p class="hint">A new password signs you out everywhere else.</p>
      <p>
        <button disabled={changing.isBusy}>Change the password</button>
      </p>
    </form>
  )
}
