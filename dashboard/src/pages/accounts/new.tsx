import { bodyOf, POST } from '../../data/api.ts'
import { useAct } from '../../data/load.ts'
import { addressOf, go } from '../../data/place.ts'
import { Head } from '../../elements/head.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Form } from '../../elements/form.tsx'
import { AllowanceFields, allowanceIn } from './allowance.tsx'

/** Creates an account, then opens its page. */
export function NewAccount() {
  const creating = useAct(async (form: FormData) => {
    const { id } = await bodyOf(POST('/api/accounts', { body: allowanceIn(form) }))
    go(addressOf(`/accounts/${id}`))
  })
  return (
    <>
      <Head title="Create an account">
        <a href={addressOf('/accounts')}>All accounts</a>
      </Head>
      <Failure error={creating.error} />
      <Form class="card" send={creating.run}>
        <AllowanceFields faultAt={creating.faultAt} />
        <button disabled={creating.isBusy}>
          {creating.isBusy ? 'Creating…' : 'Create the account'}
        </button>
      </Form>
    </>
  )
}
