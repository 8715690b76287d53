import { useState } from 'preact/hooks'
import { bodyOf, POST } from '../data/api.ts'
import { useAct } from '../data/load.ts'
import { enter } from '../data/session.ts'
import { Failure } from '../elements/failure.tsx'
import { Field } from '../elements/field.tsx'

/** Signs people in who have a password, and tells the others where an account comes from. */
export function Entrance() {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const signingIn = useAct(async () => {
    enter(await bodyOf(POST('/api/sessions', { body: { email, password } })))
  })
  return (
    <main class="entrance">
      <p class="product">Model-Access Gateway</p>
      <h1>Sign in</h1>
      <Failure error={signingIn.error} />
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void signingIn.run()
        }}
      >
        <Field label="E-mail">
          {(attributes) => (
            <input
              {...attributes}
              type="email"
              autoComplete="username"
              required
              value={email}
              onInput={(event) => setEmail(event.currentTarget.value)}
            />
          )}
        </Field>
        <Field label="Password">
          {(attributes) => (
            <input
              {...attributes}
              type="password"
              autoComplete="current-password"
              required
              value={password}
              onInput={(event) => setPassword(event.currentTarget.value)}
            />
          )}
        </Field>
        <button disabled={signingIn.isBusy}>{signingIn.isBusy ? 'Signing in…' : 'Sign in'}</button>
      </form>
      <p class="hint">
        The first person comes in by the link that the gateway prints when it starts, others by an
        invitation.
      </p>
    </main>
  )
}
