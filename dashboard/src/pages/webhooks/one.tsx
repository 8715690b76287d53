import { useState } from 'preact/hooks'
import { bodyOf, DELETE, GET, PATCH, POST, type Schemas } from '../../data/api.ts'
import { useAct, useLoad } from '../../data/load.ts'
import { addressOf, go } from '../../data/place.ts'
import { accountQuery } from '../../data/session.ts'
import { Dialog } from '../../elements/dialog.tsx'
import { DialogButton } from '../../elements/dialog-button.tsx'
import { AskFirst } from '../../elements/ask-first.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Form } from '../../elements/form.tsx'
import { Head } from '../../elements/head.tsx'
import { Said, useSaid } from '../../elements/said.tsx'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { Deliveries } from './deliveries.tsx'
import { EventFields, eventText, fieldsOf, kinds } from './fields.tsx'
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
        <a href={addressOf('/webhooks')}>Alerts and webhooks</a>
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
  const { kind, gone_at: gone, previous_secret_until: until } = webhook
  return (
    <dl class="facts">
      <dt>Sent to</dt>
      <dd class="whole">
        <code>{webhook.url.replace('mailto:', '')}</code>
        <span class="hint">
          {' '}
          {kinds[kind]}
          {kind === 'slack' && '; the rest of the address is secret'}
        </span>
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
      <dt>{kind === 'webhook' ? 'Events' : 'Alerts'}</dt>
      <dd>{webhook.events.map((type) => eventText(type, kind)).join('; ')}</dd>
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
        <DialogButton button={{ text: 'Change…', class: 'plain' }}>
          {(close) => <Change webhook={webhook} onClose={close} onDone={onDone} />}
        </DialogButton>
        <button type="button" class="plain" onClick={() => void switching.run()}>
          {enabled ? 'Disable' : 'Enable'}
        </button>
        {webhook.kind === 'webhook' && (
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
        )}
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

type ChangeProps = { webhook: Webhook; onClose: () => void; onDone: (said: string) => void }

function Change({ webhook, onClose, onDone }: ChangeProps) {
  const { id, kind, name } = webhook
  const changing = useAct(async (form: FormData) => {
    const { url: _, ...body } = fieldsOf(form, kind)
    const params = { path: { id }, query: accountQuery() }
    await bodyOf(PATCH('/api/webhooks/{id}', { params, body }))
    onClose()
    onDone('The change is saved.')
  })
  return (
    <Dialog title={`Change ${name}`} onClose={onClose} isLocked={changing.isBusy}>
      <Form send={changing.run}>
        <EventFields kind={kind} webhook={webhook} faultAt={changing.faultAt} />
        <Failure error={changing.error} />
        <button disabled={changing.isBusy}>{changing.isBusy ? 'Saving…' : 'Save'}</button>
      </Form>
    </Dialog>
  )
}
