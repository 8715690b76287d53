import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { bodyOf, DELETE, POST, type Schemas } from '../data/api.ts'
import { useAct } from '../data/load.ts'
import { accountQuery } from '../data/session.ts'
import { AskFirst } from './ask-first.tsx'
import { SelectField } from './controls.tsx'
import { Dialog } from './dialog.tsx'
import { DialogButton, type ButtonLook } from './dialog-button.tsx'
import { Failure } from './failure.tsx'

type ApiKey = Schemas['ApiKey']

/** Minutes for which both secrets work, up to the contract's maximum. */
const overlaps = [
  ['0', 'no time: the old one ends now'],
  ['60', 'one hour'],
  ['1440', 'one day'],
  ['10080', 'seven days'],
] as const

type RotateProps = {
  apiKey: ApiKey
  button: ButtonLook
  onRotated: (created: Schemas['CreatedApiKey']) => void
}

/** A button that creates a new secret for a key, and asks how long the old secret keeps working. */
export function RotateKey({ button, ...rotation }: RotateProps) {
  return (
    <DialogButton button={button}>
      {(close) => <Rotation {...rotation} onClose={close} />}
    </DialogButton>
  )
}

type RotationProps = Omit<RotateProps, 'button'> & { onClose: () => void }

function Rotation({ apiKey, onClose, onRotated }: RotationProps) {
  const [minutes, setMinutes] = useState<string>('60')
  const rotating = useAct(async () => {
    const { id } = apiKey
    const params = { path: { id }, query: accountQuery() }
    const body = { overlap_minutes: Number(minutes) }
    onRotated(await bodyOf(POST('/api/keys/{id}/rotate', { params, body })))
  })
  return (
    <Dialog title={`Rotate ${apiKey.name}`} onClose={onClose} isLocked={rotating.isBusy}>
      <p>
        A new secret replaces the old one, with the same permissions, limits and budget. The old
        secret keeps working for a while, so that running programs do not fail.
      </p>
      <Failure error={rotating.error} />
      <SelectField
        label="Both work for"
        choices={overlaps}
        chosen={minutes}
        onChoose={setMinutes}
      />
      <p class="row">
        <button type="button" disabled={rotating.isBusy} onClick={() => void rotating.run()}>
          {rotating.isBusy ? 'Rotating…' : 'Rotate'}
        </button>
        <button type="button" class="plain" disabled={rotating.isBusy} onClick={onClose}>
          Cancel
        </button>
      </p>
    </Dialog>
  )
}

type RevokeProps = {
  apiKey: ApiKey
  button: ButtonLook
  /** Explanation of what revoking does. */
  children: ComponentChildren
  /** Whether the key is a connection of the signed-in person, in any account. */
  isOwn?: boolean
  onDone: (said: string) => void
}

/** A button that explains what revoking does, and revokes the key. */
export function RevokeKey({ apiKey: { id, name }, isOwn = false, ...asked }: RevokeProps) {
  const revoke = () =>
    isOwn
      ? bodyOf(DELETE('/api/me/connections/{id}', { params: { path: { id } } }))
      : bodyOf(DELETE('/api/keys/{id}', { params: { path: { id }, query: accountQuery() } }))
  return (
    <AskFirst
      {...asked}
      title={`Revoke ${name}`}
      act="Revoke permanently"
      run={async () => {
        await revoke()
        return `${name} is revoked.`
      }}
    />
  )
}
