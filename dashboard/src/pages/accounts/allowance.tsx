import type { Schemas } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { allowanceOf, BudgetFields, LimitFields } from '../../elements/allowance.tsx'
import { NameField } from '../../elements/name-field.tsx'

type Account = Schemas['Account']
type Props = {
  account?: Account | undefined
  /** Error message for a member of the request, by its name. */
  faultAt: (param: string) => string | undefined
}

/** Fields for the name, budget and limits of an account. */
export function AllowanceFields({ account, faultAt }: Props) {
  return (
    <>
      <NameField name={account?.name} fault={faultAt('name')} />
      <div class="columns">
        <BudgetFields
          budget={account?.budget}
          hint="Shared by all keys of the account. Leave it empty for no budget."
          fault={faultAt('budget')}
        />
      </div>
      <fieldset>
        <legend>Limits</legend>
        <p class="hint above">
          Leave a field empty to use the gateway's default limit. 0 refuses every call, which pauses
          the account.
        </p>
        <div class="columns">
          <LimitFields limits={account?.limits} faultAt={faultAt} />
        </div>
      </fieldset>
    </>
  )
}

/** Converts the form to a request body; an empty field means no limit or budget. */
export function allowanceIn(form: FormData): Schemas['NewAccount'] {
  const texts = textsOf(form)
  return { name: (texts['name'] ?? '').trim(), ...allowanceOf(texts) }
}
