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

/** Who makes the links that the reader may not make; nothing where there are no such members. */
export function NoPasswordLink({ members = [] }: MembersProps) {
  const own = signedIn.value?.person.id
  if (members.every((one) => one.id === own || one.may_get_password_link)) return null
  return (
    <p class="hint">
      {isOperator.value
        ? 'Who owns the gateway gets a link for a new password from another of its owners.'
        : 'Owners get a link for a new password from other owners, and who has other accounts too from those who run the gateway.'}
    </p>
  )
}

type Props = { member: Schemas['Member'] }

/** A button that makes a link with which a member sets a new password, and shows it this once. */
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
    <Dialog title={`A new password for ${member.name}`} onClose={onClose} isFast={making.isBusy}>
      {made === undefined ? (
        <>
          <p>
            They set it themselves, with a link that you hand them. Their password works until then.
            A link that was made before works no more.
          </p>
          <Failure error={making.error} />
          <p class="row">
            <button type="button" disabled={making.isBusy} onClick={() => void making.run()}>
              {making.isBusy ? 'One moment…' : 'Make the link'}
            </button>
            <button type="button" class="plain" disabled={making.isBusy} onClick={onClose}>
              Cancel
            </button>
          </p>
        </>
      ) : (
        <>
          <p role="status">
            Hand {made.email} this link, and nobody else: it is shown this once. It works once,
            until <Time at={made.expires_at} />.
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
