import { bodyOf, PATCH } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { useAct } from '../../data/load.ts'
import { setPerson, signedIn } from '../../data/session.ts'
import { Failure } from '../../elements/failure.tsx'
import { InputField } from '../../elements/field.tsx'
import { Form } from '../../elements/form.tsx'
import { PersonNameField } from '../../elements/person-fields.tsx'
import { Said, useSaid } from '../../elements/said.tsx'
import { Memberships } from './memberships.tsx'
import { Passkeys } from './passkeys.tsx'
import { Password } from './password.tsx'
import { Sessions } from './sessions.tsx'

/** Page of the signed-in person: name, password, passkeys, sessions and accounts. */
export function Page() {
  return (
    <>
      <div class="head">
        <h1>You</h1>
      </div>
      <Name />
      <Password />
      <Passkeys />
      <Sessions />
      <Memberships />
    </>
  )
}

function Name() {
  const person = signedIn.value?.person
  const [said, say] = useSaid()
  const renaming = useAct(async (form: FormData) => {
    say(undefined)
    const { name = '' } = textsOf(form)
    const renamed = await bodyOf(PATCH('/api/me', { body: { name } }))
    setPerson(renamed)
    say(`Your name is now ${renamed.name}.`)
  })
  return (
    <Form class="card" send={renaming.run}>
      <h2>Name and e-mail</h2>
      <Said said={said} />
      <Failure error={renaming.error} />
      <PersonNameField name={person?.name} />
      <InputField
        label="E-mail"
        hint="You sign in with it. It cannot be changed."
        type="email"
        readOnly
        value={person?.email}
      />
      <button disabled={renaming.isBusy}>Save the name</button>
    </Form>
  )
}
