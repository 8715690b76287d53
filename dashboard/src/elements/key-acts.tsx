import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { bodyOf, DELETE, POST, type Schemas } from '../data/api.ts'
import { useAct } from '../data/load.ts'
import { accountQuery } from '../data/session.ts'
import { AskFirst } from './ask-first.tsx'
import { Dialog } from './dialog.tsx'
import { DialogButton, type ButtonLook } from './dialog-button.tsx'
import { Failure } from './failure.tsx'
import { Field } from './field.tsx'

type ApiKey = Schemas['ApiKey']

const hourMinutes = 60
const dayMinutes = 24 * hourMinutes
/** How long both may work, up to the most that the contract allows. */
const overlaps = [
  { minutes: 0, name: 'no time: the old one ends now' },
  { minutes: hourMinutes, name: 'one hour' },
  { minutes: dayMinutes, name: 'one day' },
  { minutes: 7 * dayMinutes, name: 'seven days' },
] as const

type RotateProps = {
  apiKey: ApiKey
  button: ButtonLook
  onRotated: (created: Schemas['CreatedApiKey']) => void
}

/** A button that asks how long the old secret is to work beside a new one, and makes that. */
export function RotateKey({ button, ...rotation }: RotateProps) {
  return (
    <DialogButton button={button}>
      {(close) => <Rotation {...rotation} onClose={close} />}
    </DialogButton>
  )
}

type RotationProps = Omit<RotateProps, 'button'> & { onClose: () => void }

function Rotation({ apiKey, onClose, onRotated }: RotationProps) {
  const [minutes, setMinutes] = useState<number>(hourMinutes)
  const rotating = useAct(async () => {
    const { id } = apiKey
    const params = { path: { id }, query: accountQuery() }
    const body = { overlap_minutes: minutes }
    onRotated(await bodyOf(POST('/api/keys/{id}/rotate', { params, body })))
  })
  return (
    <Dialog title={`Rotate ${apiKey.name}`} onClose={onClose} isFast={rotating.isBusy}>
      <p>
        A new secret takes its place, with the same permissions, limits and budget. The old one goes
        on working for a while, so that nothing stops.
      </p>
      <Failure error={rotating.error} />
      <Field label="Both work for">
        {(attributes) => (
          <select
            {...attributes}
            onChange={(event) => setMinutes(Number(event.currentTarget.value))}
          >
            {overlaps.map((one) => (
              <option key={one.minutes} value={one.minutes} selected={one.minutes === minutes}>
                {one.name}
              </option>
            ))}
          </select>
        )}
      </Field>
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
  /** What will happen. */
  children: ComponentChildren
  /** Whether it is a connection of the person's own, in whatever account. */
  isOwn?: boolean
  onDone: (said: string) => void
}

/** A button that says what revoking does, and revokes. */
export function RevokeKey({ apiKey: { id, name }, isOwn = false, ...asked }: RevokeProps) {
  const revoke = () =>
    isOwn
      ? bodyOf(DELETE('/api/me/connections/{id}', { params: { path: { id } } }))
      : bodyOf(DELETE('/api/keys/{id}', { params: { path: { id }, query: accountQuery() } }))
  return (
    <AskFirst
      {...asked}
      title={`Revoke ${name}`}
      act="Revoke for good"
      run={async () => {
        await revoke()
        return `${name} is revoked.`
      }}
    />
  )
}
