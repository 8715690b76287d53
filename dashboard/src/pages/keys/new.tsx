import { useState } from 'preact/hooks'
import { bodyOf, POST, type Schemas } from '../../data/api.ts'
import { useAct } from '../../data/load.ts'
import { addressOf } from '../../data/place.ts'
import { accountQuery } from '../../data/session.ts'
import { Head } from '../../elements/head.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Form } from '../../elements/form.tsx'
import { Created } from './created.tsx'
import { KeyFields, keyOf, scopesOf } from './form.tsx'

/** Creates a key, and shows its secret once. */
export function NewKey() {
  const [created, setCreated] = useState<Schemas['CreatedApiKey']>()
  const creating = useAct(async (form: FormData) => {
    const mode = form.get('mode') === 'test' ? 'test' : 'live'
    const body = { ...keyOf(form), scopes: scopesOf(form), mode } as const
    setCreated(await bodyOf(POST('/api/keys', { params: { query: accountQuery() }, body })))
  })
  if (created !== undefined) return <Created created={created} />
  return (
    <>
      <Head title="Create a key">
        <a href={addressOf('/keys')}>All keys</a>
      </Head>
      <Form class="card" send={creating.run}>
        <KeyFields faultAt={creating.faultAt} />
        <Failure error={creating.error} />
        <button disabled={creating.isBusy}>
          {creating.isBusy ? 'Creating…' : 'Create the key'}
        </button>
      </Form>
    </>
  )
}
