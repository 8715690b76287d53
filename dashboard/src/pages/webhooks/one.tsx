import { useState } from 'preact/hooks'
import { bodyOf, DELETE, GET, PATCH, POST, type Schemas } from '../../data/api.ts'
import { useAct, useLoad } from '../../data/load.ts'
import { addressOf, go } from '../../data/place.ts'
import { accountQuery } from '../../data/session.ts'
import { AskFirst } from '../../elements/ask-first.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Head } from '../../elements/head.tsx'
import { Said, useSaid } from '../../elements/said.tsx'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { Deliveries } from './deliveries.tsx'
import { Secret } from './secret.tsx'
import { WebhookState } from './state.tsx'

type Webhook = Schemas['Webhook']

/** One webhook: its settings and deliveries, with buttons to disable, rotate and delete it. */
export function OneWebhook({ id }: { id: string }) {
  const params = { path: { id }, query: accountQuery() }
  const webhook = useLoad(`webhook ${id}`, (signal) =>
    bodyOf(GET('/api/webhooks/{id}', { params, signal })),
  )
  const [rotated, setRotated] = useState<Schemas['CreatedWebhook']>()
  const [said, say] = useSaid()
  const done = (text: string) => {
    say(text)
    webhook.again()
  }
  if (rotated !== undefined) {
    const onDone = () => {
      setRotated(undefined)
      webhook.again()
    }
    return <Secret created={rotated} onDone={onDone} />
  }
  return (
    <>
      <Head title={webhook.data?.name ?? 'Webhook'}>
        <a href={addressOf('/webhooks')}>All webhooks</a>
      </Head>
      <Said said={said} />
      <WhenLoaded loaded={webhook} what="Loading the webhook">
        {(found) => (
          <>
            <section class="card">
              <Facts webhook={found} />
              <Acts webhook={found} onDone={done} onRotated={setRotated} />
            </section>
            <Deliveries webhook={found} />
          </>
        )}
      </WhenLoaded>
    </>
  )
}

function Facts({ webhook }: { webhook: Webhook }) {
  const { gone_at: gone, previous_secret_until: until } = webhook
  return (
    <dl class="facts">
      <dt>Address</dt>
      <dd class="whole">
        <code>{webhook.url}</code>
      </dd>
      <dt>State</dt>
      <dd>
        <WebhookState webhook={webhook} />
        {gone !== null && (
          <>
            {' '}
            the receiver answered 410 <Time at={gone} />
          </>
        )}
      </dd>
      <dt>Mode</dt>
      <dd>{webhook.mode}</dd>
      <dt>Events</dt>
      <dd>{webhook.events.join(', ')}</dd>
      {until !== null && (
        <>
          <dt>Previous secret</dt>
          <dd>
            also signs until <Time at={until} isWhole />
          </dd>
        </>
      )}
      <dt>Created</dt>
      <dd>
        <Time at={webhook.created_at} isWhole />
      </dd>
    </dl>
  )
}

type ActProps = {
  webhook: Webhook
  onDone: (said: string) => void
  onRotated: (created: Schemas['CreatedWebhook']) => void
}

function Acts({ webhook, onDone, onRotated }: ActProps) {
  const { id, name, enabled } = webhook
  const params = { path: { id }, query: accountQuery() }
  const switching = useAct(async () => {
    await bodyOf(PATCH('/api/webhooks/{id}', { params, body: { enabled: !enabled } }))
    onDone(enabled ? 'The webhook is disabled.' : 'The webhook is enabled.')
  })
  return (
    <>
      <Failure error={switching.error} />
      <div class="row">
        <button type="button" class="plain" onClick={() => void switching.run()}>
          {enabled ? 'Disable' : 'Enable'}
        </button>
        <AskFirst
          button={{ text: 'Rotate the secret…', class: 'plain' }}
          title={`Rotate the secret of ${name}`}
          act="Rotate"
          run={async () => {
            onRotated(await bodyOf(POST('/api/webhooks/{id}/rotate', { params })))
            return ''
          }}
          onDone={() => undefined}
        >
          <p>For 24 hours each request is signed with the new and with the current secret.</p>
        </AskFirst>
        <AskFirst
          button={{ text: 'Delete…', class: 'danger' }}
          title={`Delete ${name}`}
          act="Delete"
          run={async () => {
            await bodyOf(DELETE('/api/webhooks/{id}', { params }))
            return ''
          }}
          onDone={() => go(addressOf('/webhooks'))}
        >
          <p>Its pending deliveries and their history are deleted too. This cannot be undone.</p>
        </AskFirst>
      </div>
    </>
  )
}
