import { useState } from 'preact/hooks'
import type { Schemas } from '../../data/api.ts'
import { addressOf } from '../../data/place.ts'
import { mayAdminister } from '../../data/session.ts'
import { Connections } from './connections.tsx'
import { ServiceSecret } from './client-secret.tsx'
import { Services } from './account-clients.tsx'
import './applications.css'

/** Connected applications, and the account's services. */
export function Page() {
  const [created, setCreated] = useState<Schemas['CreatedApiKey']>()
  if (created !== undefined) {
    return <ServiceSecret created={created} onDone={() => setCreated(undefined)} />
  }
  return (
    <>
      <div class="head">
        <h1>Applications</h1>
        <a class="button plain" href={addressOf('/connect')}>
          Connect an application
        </a>
      </div>
      <Connections />
      {mayAdminister.value && <Services onCreated={setCreated} />}
    </>
  )
}
