import { useState } from 'preact/hooks'
import { bodyOf, GET, POST, type Schemas } from '../../data/api.ts'
import { useAct } from '../../data/load.ts'
import { usePages } from '../../data/pages.ts'
import { addressOf, go } from '../../data/place.ts'
import { accountQuery } from '../../data/session.ts'
import { SelectField } from '../../elements/controls.tsx'
import { Dialog } from '../../elements/dialog.tsx'
import { DialogButton } from '../../elements/dialog-button.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Form } from '../../elements/form.tsx'
import { Head } from '../../elements/head.tsx'
import { More } from '../../elements/more.tsx'
import { Sketch } from '../../elements/sketch.tsx'
import { Table } from '../../elements/table.tsx'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { AddressFields, EventFields, fieldsOf, kinds, placeOf } from './fields.tsx'
import { Secret } from './secret.tsx'
import { WebhookState } from './state.tsx'

type Created = Schemas['CreatedWebhook']

/** All webhooks, newest first. */
export function WebhookList() {
  const webhooks = usePages('webhooks', (page, signal) =>
    bodyOf(GET('/api/webhooks', { params: { query: { ...accountQuery(), ...page } }, signal })),
  )
  const [created, setCreated] = useState<Created>()
  if (created !== undefined)
    return <Secret created={created} onDone={() => go(addressOf(`/webhooks/${created.id}`))} />
  // Slack and mailboxes have no secret to copy.
  const show = (one: Created) =>
    one.kind === 'webhook' ? setCreated(one) : go(addressOf(`/webhooks/${one.id}`))
  return (
    <>
      <Head title="Alerts and webhooks">
        <DialogButton button={{ text: 'Add a receiver', class: '' }}>
          {(close) => <NewWebhook onClose={close} onCreated={show} />}
        </DialogButton>
      </Head>
      <WhenLoaded loaded={webhooks} what="Loading the webhooks">
        {(all) => <Webhooks webhooks={all} />}
      </WhenLoaded>
      <More more={webhooks.more} />
    </>
  )
}

function Webhooks({ webhooks }: { webhooks: readonly Schemas['Webhook'][] }) {
  if (webhooks.length === 0) {
    return (
      <div class="card empty">
        <Sketch of="rows" />
        <h2>No alerts or webhooks yet</h2>
        <p>
          An alert says that a budget reaches a threshold or refuses calls, that a provider fails,
          or that an hour costs far more than usual. It goes to Slack, a mailbox or your server.
        </p>
        <p>
          A server is also notified when a picture or a response in the background is ready, so that
          it need not poll.
        </p>
      </div>
    )
  }
  return (
    <div class="card">
      <Table
        label="Webhooks"
        class="stacked"
        columns={['Name', 'Sent to', 'Mode', 'State', 'Created']}
        opens
      >
        {webhooks.map((webhook) => (
          <tr key={webhook.id}>
            <td class="first">
              <a href={addressOf(`/webhooks/${webhook.id}`)}>{webhook.name}</a>
            </td>
            <td class="across">
              <code>{placeOf(webhook)}</code>
              {webhook.kind !== 'webhook' && <span class="hint"> {kinds[webhook.kind]}</span>}
            </td>
            <td class="minor">{webhook.mode}</td>
            <td class="beside">
              <WebhookState webhook={webhook} />
            </td>
            <td class="minor">
              <Time at={webhook.created_at} />
            </td>
          </tr>
        ))}
      </Table>
    </div>
  )
}

type NewProps = { onClose: () => void; onCreated: (created: Created) => void }

function NewWebhook({ onClose, onCreated }: NewProps) {
  const [kind, setKind] = useState<Schemas['WebhookKind']>('slack')
  const creating = useAct(async (form: FormData) => {
    const mode = form.get('mode') === 'test' ? 'test' : 'live'
    const body = { ...fieldsOf(form, kind), kind, mode } as const
    onCreated(await bodyOf(POST('/api/webhooks', { params: { query: accountQuery() }, body })))
  })
  return (
    <Dialog title="Add a receiver" onClose={onClose} isLocked={creating.isBusy}>
      <Form send={creating.run}>
        <AddressFields kind={kind} onKind={setKind} faultAt={creating.faultAt} />
        <EventFields kind={kind} faultAt={creating.faultAt} />
        {kind === 'webhook' && (
          <SelectField
            label="Mode"
            hint="What keys of this mode make is reported. Alerts concern live calls."
            name="mode"
            choices={['live', 'test']}
          />
        )}
        <Failure error={creating.error} />
        <button disabled={creating.isBusy}>{creating.isBusy ? 'Adding…' : 'Add'}</button>
      </Form>
    </Dialog>
  )
}
