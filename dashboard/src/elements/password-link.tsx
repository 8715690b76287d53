import { useState } from 'preact/hooks'
import { bodyOf, POST, type Schemas } from '../data/api.ts'
import { useAct } from '../data/load.ts'
import { isOperator, signedIn } from '../data/session.ts'
import { Snippet } from './copy.tsx'
import { Dialog } from './dialog.tsx'
import { DialogButton } from './dialog-button.tsx'
import { Failure } from './failure.tsx'
import { Time } from './time.tsx'

type MembersProps = { members: readonly Schemas['Member'][] | undefined }

/** Explains who can create password links for the listed members; hidden when the reader can do so for all. */
export function NoPasswordLink({ members = [] }: MembersProps) {
  const own = signedIn.value?.person.id
  if (members.every((one) => one.id === own || one.may_get_password_link)) return null
  return (
    <p class="hint">
      {isOperator.value
        ? 'Only another owner of the gateway can create a password link for an owner of the gateway.'
        : 'Other owners can create a password link for an owner. For a member of several accounts, ask the operators of the gateway.'}
    </p>
  )
}

type Props = { member: Schemas['Member'] }

/** A button that creates a link for setting a new password, and shows it once. */
export function PasswordLink({ member }: Props) {
  return (
    <DialogButton button={{ text: 'New password…', class: 'plain small' }}>
      {(close) => <Making member={member} onClose={close} />}
    </DialogButton>
  )
}

function Making({ member, onClose }: Props & { onClose: () => void }) {
  const [made, setMade] = useState<Schemas['CreatedPasswordLink']>()
  const making = useAct(async () => {
    const params = { path: { id: member.id }, query: { account_id: member.account_id } }
    setMade(await bodyOf(POST('/api/members/{id}/password-link', { params })))
  })
  return (
    <Dialog title={`A new password for ${member.name}`} onClose={onClose} isLocked={making.isBusy}>
      {made === undefined ? (
        <>
          <p>
            Create a link and send it to this person. The current password works until they set a
            new one. Earlier links stop working.
          </p>
          <Failure error={making.error} />
          <p class="row">
            <button type="button" disabled={making.isBusy} onClick={() => void making.run()}>
              {making.isBusy ? 'One moment…' : 'Create the link'}
            </button>
            <button type="button" class="plain" disabled={making.isBusy} onClick={onClose}>
              Cancel
            </button>
          </p>
        </>
      ) : (
        <>
          <p role="status">
            Send this link to {made.email} only. It is shown only now, works once, and expires{' '}
            <Time at={made.expires_at} />.
          </p>
          <Snippet text={made.link} what="the link" />
          <p class="row">
            <button type="button" onClick={onClose}>
              Done
            </button>
          </p>
        </>
      )}
    </Dialog>
  )
}
