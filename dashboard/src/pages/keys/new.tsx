import { useState } from 'preact/hooks'
import { bodyOf, POST, type Schemas } from '../../data/api.ts'
import { useAct } from '../../data/load.ts'
import { addressOf } from '../../data/place.ts'
import { accountQuery, membership } from '../../data/session.ts'
import { keyBoundsText } from '../../elements/allowance.tsx'
import { Head } from '../../elements/head.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Form } from '../../elements/form.tsx'
import { Created } from './created.tsx'
import { KeyFields, keyOf, scopesOf } from './form.tsx'

type KeySettings = ReturnType<typeof keyOf>

/** Creates a key, and shows its secret once. */
export function NewKey() {
  const [created, setCreated] = useState<Schemas['CreatedApiKey']>()
  const creating = useAct(async (form: FormData) => {
    const mode = form.get('mode') === 'test' ? 'test' : 'live'
    const body = { ...given(keyOf(form)), scopes: scopesOf(form), mode } as const
    setCreated(await bodyOf(POST('/api/keys', { params: { query: accountQuery() }, body })))
  })
  if (created !== undefined) return <Created created={created} />
  const bounds = membership.value?.key_bounds
  return (
    <>
      <Head title="Create a key">
        <a href={addressOf('/keys')}>All keys</a>
      </Head>
      <Form class="card" send={creating.run}>
        {bounds && (
          <p class="quiet">
            The bounds of your keys: {keyBoundsText(bounds)}. They apply where a field is empty.
          </p>
        )}
        <KeyFields faultAt={creating.faultAt} />
        <Failure error={creating.error} />
        <button disabled={creating.isBusy}>
          {creating.isBusy ? 'Creating…' : 'Create the key'}
        </button>
      </Form>
    </>
  )
}

/** Without empty fields: a key that a member creates has the member's bounds there. */
function given({ limits, budget, models, allowed_addresses, expires_at, ...rest }: KeySettings) {
  const filled = Object.entries({ budget, models, allowed_addresses, expires_at })
  const numbers = Object.entries(limits).filter(([, most]) => most !== null)
  return {
    ...rest,
    limits: Object.fromEntries(numbers),
    ...Object.fromEntries(filled.filter(([, value]) => value !== null)),
  }
}
