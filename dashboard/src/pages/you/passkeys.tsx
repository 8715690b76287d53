import { bodyOf, DELETE, GET, type Schemas } from '../../data/api.ts'
import { useEntrance } from '../../data/entrance.ts'
import { textsOf } from '../../data/form.ts'
import { useAct } from '../../data/load.ts'
import { usePages } from '../../data/pages.ts'
import { addPasskey, offersPasskeys } from '../../data/passkey.ts'
import { signedIn } from '../../data/session.ts'
import { AskFirst } from '../../elements/ask-first.tsx'
import { DialogButton } from '../../elements/dialog-button.tsx'
import { Dialog } from '../../elements/dialog.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Form } from '../../elements/form.tsx'
import { NameField } from '../../elements/name-field.tsx'
import { PasswordField, PasswordOwner } from '../../elements/password.tsx'
import { Said, useSaid } from '../../elements/said.tsx'
import { acts, Table } from '../../elements/table.tsx'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { deviceOf } from './device.ts'

/** Passkeys of the person. Where passwords are closed, those that exist can only be removed. */
export function Passkeys() {
  const passkeys = usePages('passkeys', (page, signal) =>
    bodyOf(GET('/api/me/passkeys', { params: { query: page }, signal })),
  )
  const { data: entrance } = useEntrance()
  const [said, say] = useSaid()
  const isClosed = entrance?.password_sign_in === 'closed'
  if (isClosed && !passkeys.data?.length) return null
  const changed = (text: string) => {
    say(text)
    passkeys.again()
  }
  return (
    <section class="card">
      <div class="head">
        <h2>Passkeys</h2>
        {offersPasskeys && !isClosed && (
          <DialogButton button={{ text: 'Add a passkey…', class: 'plain small' }}>
            {(close) => <Add onClose={close} onDone={changed} />}
          </DialogButton>
        )}
      </div>
      <Said said={said} />
      <p class="hint">
        {isClosed
          ? 'Sign-in with passwords and passkeys is switched off.'
          : offersPasskeys
            ? 'Sign in with your fingerprint, face or PIN instead of your password.'
            : 'This browser has no passkeys here. They need https or localhost.'}
      </p>
      <WhenLoaded loaded={passkeys}>
        {(all) =>
          all.length > 0 && (
            <Table label="Passkeys" class="stacked" columns={['Name', 'Added', 'Last used', acts]}>
              {all.map((passkey) => (
                <tr key={passkey.id}>
                  <td class="first">{passkey.name}</td>
                  <td data-head="Added">
                    <Time at={passkey.created_at} />
                  </td>
                  <td class="at-end" data-head="Last used">
                    <Time at={passkey.last_used_at} />
                  </td>
                  <td class="act beside">
                    <Remove passkey={passkey} onDone={changed} />
                  </td>
                </tr>
              ))}
            </Table>
          )
        }
      </WhenLoaded>
    </section>
  )
}

type AddProps = { onClose: () => void; onDone: (said: string) => void }

function Add({ onClose, onDone }: AddProps) {
  const adding = useAct(async (form: FormData) => {
    const { name = '', current = '' } = textsOf(form)
    await addPasskey(name, current)
    onClose()
    onDone(`You can sign in with the passkey ${name}.`)
  })
  const fault = adding.faultAt('current_password')
  return (
    <Dialog title="Add a passkey" onClose={onClose} isLocked={adding.isBusy}>
      {fault === undefined && <Failure error={adding.error} />}
      <Form send={adding.run}>
        <NameField
          hint="By which you know the device or password manager."
          name={deviceOf(navigator.userAgent)}
        />
        <PasswordOwner email={signedIn.value?.person.email} />
        <PasswordField label="Current password" name="current" fault={fault} />
        <button disabled={adding.isBusy}>{adding.isBusy ? 'One moment…' : 'Continue'}</button>
      </Form>
    </Dialog>
  )
}

type RemoveProps = { passkey: Schemas['Passkey']; onDone: (said: string) => void }

function Remove({ passkey: { id, name }, onDone }: RemoveProps) {
  return (
    <AskFirst
      button={{ text: 'Remove…', class: 'plain small', label: `Remove ${name}…` }}
      title={`Remove ${name}`}
      act="Remove the passkey"
      onDone={onDone}
      run={async () => {
        await bodyOf(DELETE('/api/me/passkeys/{id}', { params: { path: { id } } }))
        return `The passkey ${name} is removed.`
      }}
    >
      <p>
        It can no longer be used to sign in. Delete it on the device or in the password manager too.
      </p>
    </AskFirst>
  )
}
