import { bodyOf, PATCH, type Schemas } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { useAct } from '../../data/load.ts'
import { accountQuery } from '../../data/session.ts'
import { AllowanceFields, allowanceOf } from '../../elements/allowance.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Form } from '../../elements/form.tsx'

type Account = Schemas['Account']

type Props = { account: Account; onEnd: (said: string | undefined) => void }

/** Changes limits and budget of the account; an empty field means no limit. */
export function Allowance({ account: { id, budget, limits }, onEnd }: Props) {
  const changing = useAct(async (form: FormData) => {
    const params = { path: { id }, query: accountQuery() }
    await bodyOf(PATCH('/api/accounts/{id}', { params, body: allowanceOf(textsOf(form)) }))
    onEnd('Budget and limits are changed. They apply from the next call on.')
  })
  return (
    <Form send={changing.run}>
      <Failure error={changing.error} />
      <AllowanceFields
        {...{ budget, limits }}
        hint="Leave it empty for no budget. 0 refuses every call that costs money."
        faultAt={changing.faultAt}
      />
      <p class="row">
        <button disabled={changing.isBusy}>Save</button>
        <button type="button" class="plain" onClick={() => onEnd(undefined)}>
          Cancel
        </button>
      </p>
    </Form>
  )
}
