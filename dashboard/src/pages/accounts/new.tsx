import { bodyOf, POST } from '../../data/api.ts'
import { useAct } from '../../data/load.ts'
import { addressOf, go } from '../../data/place.ts'
import { Failure } from '../../elements/failure.tsx'
import { AllowanceFields, allowanceIn } from './allowance.tsx'

/** Creates an account, and shows it. */
export function NewAccount() {
  const creating = useAct(async (form: FormData) => {
    const { id } = await bodyOf(POST('/api/accounts', { body: allowanceIn(form) }))
    go(addressOf(`/accounts/${id}`))
  })
  const { error } = creating
  const faultAt = (param: string) =>
    error?.param?.startsWith(param) === true ? error.message : undefined
  return (
    <>
      <div class="head">
        <h1>Create an account</h1>
        <a href={addressOf('/accounts')}>All accounts</a>
      </div>
      <Failure error={error} />
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault()
          void creating.run(new FormData(event.currentTarget))
        }}
      >
        <AllowanceFields faultAt={faultAt} />
        <button disabled={creating.isBusy}>
          {creating.isBusy ? 'Creating…' : 'Create the account'}
        </button>
      </form>
    </>
  )
}
