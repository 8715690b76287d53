import { useState } from 'preact/hooks'
import { bodyOf, PATCH, type Schemas } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { useAct } from '../../data/load.ts'
import { accountQuery } from '../../data/session.ts'
import {
  AllowanceFields,
  allowanceOf,
  allowanceTexts,
  keyBoundsText,
} from '../../elements/allowance.tsx'
import { DialogButton } from '../../elements/dialog-button.tsx'
import { Dialog } from '../../elements/dialog.tsx'
import { Failure } from '../../elements/failure.tsx'
import { InputField } from '../../elements/field.tsx'
import { Form } from '../../elements/form.tsx'
import { Gauge } from '../../elements/gauge.tsx'
import { ModelsField } from '../../elements/models-field.tsx'

type Member = Schemas['Member']

type PersonProps = {
  /** The member to change; undefined for an invitation. */
  member?: Member
  faultAt: (param: string) => string | undefined
}

/** Fields for what a person may spend and use, and for the keys that they may create. */
export function PersonLimitFields({ member, faultAt }: PersonProps) {
  return (
    <>
      <AllowanceFields
        budget={member?.budget}
        limits={member?.limits}
        hint="Of all their keys, sessions and connections together. Empty for no budget of their own."
        faultAt={faultAt}
      />
      <label class="choice">
        <input type="checkbox" name="sandbox_only" defaultChecked={member?.sandbox_only ?? false} />
        <span>
          Only the sandbox <span class="quiet">no key of theirs can call a vendor</span>
        </span>
      </label>
      <KeyBoundFields bounds={member?.key_bounds ?? null} faultAt={faultAt} />
    </>
  )
}

type BoundProps = Pick<PersonProps, 'faultAt'> & { bounds: Schemas['NullableKeyBounds'] }

function KeyBoundFields({ bounds, faultAt }: BoundProps) {
  const [isAllowed, allow] = useState(bounds !== null)
  const { models, limits, budget, expires_in_days: days } = bounds ?? {}
  return (
    <>
      <label class="choice">
        <input
          type="checkbox"
          name="key_bounds"
          checked={isAllowed}
          onChange={(event) => allow(event.currentTarget.checked)}
        />
        <span>
          Keys of their own{' '}
          <span class="quiet">with the role member, they create keys within bounds</span>
        </span>
      </label>
      {isAllowed && (
        <fieldset>
          <legend>Bounds of each key</legend>
          <p class="hint above">Leave a field empty for no bound.</p>
          <ModelsField models={models ?? []} fault={faultAt('key_bounds.models')} />
          <InputField
            label="Expires within days"
            type="number"
            name="days"
            min={1}
            max={3650}
            defaultValue={days ?? ''}
            fault={faultAt('key_bounds.expires_in_days')}
          />
          <AllowanceFields
            of="key_"
            at="key_bounds."
            budget={budget && { amount: budget, period: budget.period }}
            limits={limits}
            hint="The most that one key may spend."
            faultAt={faultAt}
          />
        </fieldset>
      )}
    </>
  )
}

/** Converts these fields to a request body; an empty field removes the limit. */
export function personLimitsOf(form: FormData) {
  const texts = textsOf(form)
  // Hidden fields, which hold texts.
  const models = form.getAll('models') as string[]
  const bounds = {
    ...allowanceOf(texts, 'key_'),
    models: models.length === 0 ? null : models,
    expires_in_days: texts['days'] === undefined ? null : Number(texts['days']),
  }
  return {
    ...allowanceOf(texts),
    sandbox_only: form.has('sandbox_only'),
    key_bounds: form.has('key_bounds') ? bounds : null,
  } satisfies Schemas['MemberChange']
}

/** The limits of an invitation, in words. */
export function limitsText(invitation: Schemas['Invitation']): string {
  const { sandbox_only: isSandbox, key_bounds: bounds } = invitation
  const words = [...allowanceTexts(invitation), ...(isSandbox ? ['sandbox only'] : [])]
  if (bounds !== null) words.push(`own keys (${keyBoundsText(bounds)})`)
  return words.join(', ') || 'none'
}

type Props = { member: Member; onDone: (said: string) => void }

/** A button with a dialog that changes what a member may spend and use. */
export function ChangeLimits({ member, onDone }: Props) {
  const { name } = member
  return (
    <DialogButton button={{ text: 'Limits…', class: 'plain small', label: `Limits of ${name}` }}>
      {(close) => (
        <Dialog title={`Limits of ${name}`} onClose={close}>
          <LimitForm
            member={member}
            onDone={(said) => {
              close()
              onDone(said)
            }}
          />
        </Dialog>
      )}
    </DialogButton>
  )
}

function LimitForm({ member, onDone }: Props) {
  const { id, name, budget } = member
  const changing = useAct(async (form: FormData) => {
    const params = { path: { id }, query: accountQuery() }
    await bodyOf(PATCH('/api/members/{id}', { params, body: personLimitsOf(form) }))
    onDone(`The limits of ${name} are changed. They apply from the next call on.`)
  })
  return (
    <Form send={changing.run}>
      <Failure error={changing.error} />
      {budget !== null && <Gauge budget={budget} />}
      <PersonLimitFields member={member} faultAt={changing.faultAt} />
      <button disabled={changing.isBusy}>Save the limits</button>
    </Form>
  )
}
