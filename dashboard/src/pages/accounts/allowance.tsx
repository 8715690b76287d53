import type { Schemas } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { allowanceOf, BudgetFields, LimitFields } from '../../elements/allowance.tsx'
import { NameField } from '../../elements/name-field.tsx'

type Account = Schemas['Account']
type Props = {
  account?: Account | undefined
  /** What is wrong with the member of the request with this name. */
  faultAt: (param: string) => string | undefined
}

/** The name of an account, what it may spend and what it may use. */
export function AllowanceFields({ account, faultAt }: Props) {
  return (
    <>
      <NameField name={account?.name} fault={faultAt('name')} />
      <div class="columns">
        <BudgetFields
          budget={account?.budget}
          hint="For all of its keys together. Leave it empty for none."
          fault={faultAt('budget')}
        />
      </div>
      <fieldset>
        <legend>Limits</legend>
        <p class="hint above">
          Leave a field empty for the gateway's own limit. 0 lets nothing through: that pauses the
          account.
        </p>
        <div class="columns">
          <LimitFields limits={account?.limits} faultAt={faultAt} />
        </div>
      </fieldset>
    </>
  )
}

/** What a filled form says; an empty field is none. */
export function allowanceIn(form: FormData): Schemas['NewAccount'] {
  const texts = textsOf(form)
  return { name: (texts['name'] ?? '').trim(), ...allowanceOf(texts) }
}
