import { bodyOf, PATCH, type Schemas } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { useAct } from '../../data/load.ts'
import { accountQuery } from '../../data/session.ts'
import { allowanceOf, BudgetFields, LimitFields } from '../../elements/allowance.tsx'
import { DialogButton } from '../../elements/dialog-button.tsx'
import { Dialog } from '../../elements/dialog.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Form } from '../../elements/form.tsx'
import { Gauge } from '../../elements/gauge.tsx'

type Member = Schemas['Member']

/** A checkbox that limits a person to the sandbox. */
export function SandboxOnly({ isOn = false }: { isOn?: boolean }) {
  return (
    <label class="choice">
      <input type="checkbox" name="sandbox_only" defaultChecked={isOn} />
      <span>
        Only the sandbox <span class="quiet">no key of theirs can call a vendor</span>
      </span>
    </label>
  )
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

function LimitForm({ member: { id, name, budget, limits, sandbox_only }, onDone }: Props) {
  const changing = useAct(async (form: FormData) => {
    const params = { path: { id }, query: accountQuery() }
    const body = { ...allowanceOf(textsOf(form)), sandbox_only: form.has('sandbox_only') }
    await bodyOf(PATCH('/api/members/{id}', { params, body }))
    onDone(`The limits of ${name} are changed. They apply from the next call on.`)
  })
  return (
    <Form send={changing.run}>
      <Failure error={changing.error} />
      <p>
        They hold for all keys, sessions and connections of the person in this account together.
      </p>
      {budget !== null && <Gauge budget={budget} />}
      <div class="columns">
        <BudgetFields
          budget={budget}
          hint="Leave it empty for no budget of their own."
          fault={changing.faultAt('budget')}
        />
        <LimitFields limits={limits} faultAt={changing.faultAt} />
      </div>
      <SandboxOnly isOn={sandbox_only} />
      <button disabled={changing.isBusy}>Save the limits</button>
    </Form>
  )
}
