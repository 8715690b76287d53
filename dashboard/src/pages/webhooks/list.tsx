import { useState } from 'preact/hooks'
import { bodyOf, GET, POST, type Schemas } from '../../data/api.ts'
import { useAct } from '../../data/load.ts'
import { usePages } from '../../data/pages.ts'
import { addressOf, go } from '../../data/place.ts'
import { accountQuery } from '../../data/session.ts'
import { Dialog } from '../../elements/dialog.tsx'
import { DialogButton } from '../../elements/dialog-button.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Field } from '../../elements/field.tsx'
import { Form } from '../../elements/form.tsx'
import { Head } from '../../elements/head.tsx'
import { More } from '../../elements/more.tsx'
import { Sketch } from '../../elements/sketch.tsx'
import { Table } from '../../elements/table.tsx'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { fieldsOf, WebhookFields } from './fields.tsx'
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
  return (
    <>
      <Head title="Webhooks">
        <DialogButton button={{ text: 'Create a webhook', class: '' }}>
          {(close) => <NewWebhook onClose={close} onCreated={setCreated} />}
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
        <h2>No webhooks yet</h2>
        <p>
          A webhook notifies your server when a picture or a response in the background is ready, so
          that it need not poll.
        </p>
      </div>
    )
  }
  return (
    <div class="card">
      <Table label="Webhooks" columns={['Name', 'Address', 'Mode', 'State', 'Created']} opens>
        {webhooks.map((webhook) => (
          <tr key={webhook.id}>
            <td>
              <a href={addressOf(`/webhooks/${webhook.id}`)}>{webhook.name}</a>
            </td>
            <td>
              <code>{new URL(webhook.url).host}</code>
            </td>
            <td>{webhook.mode}</td>
            <td>
              <WebhookState webhook={webhook} />
            </td>
            <td>
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
  const creating = useAct(async (form: FormData) => {
    const mode = form.get('mode') === 'test' ? 'test' : 'live'
    const body = { ...fieldsOf(form), mode } as const
    onCreated(await bodyOf(POST('/api/webhooks', { params: { query: accountQuery() }, body })))
  })
  return (
    <Dialog title="Create a webhook" onClose={onClose} isLocked={creating.isBusy}>
      <Form send={creating.run}>
        <WebhookFields faultAt={creating.faultAt} />
        <Field label="Mode" hint="What keys of this mode make is reported.">
          {(attributes) => (
            <select {...attributes} name="mode">
              <option value="live">live</option>
              <option value="test">test</option>
            </select>
          )}
        </Field>
        <Failure error={creating.error} />
        <button disabled={creating.isBusy}>
          {creating.isBusy ? 'Creating…' : 'Create the webhook'}
        </button>
      </Form>
    </Dialog>
  )
}
