import { bodyOf, GET, POST, type Schemas } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { useAct } from '../../data/load.ts'
import { usePages } from '../../data/pages.ts'
import { addressOf } from '../../data/place.ts'
import { accountQuery } from '../../data/session.ts'
import { DollarField } from '../../elements/allowance.tsx'
import { SelectField } from '../../elements/controls.tsx'
import { Dialog } from '../../elements/dialog.tsx'
import { DialogButton } from '../../elements/dialog-button.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Form } from '../../elements/form.tsx'
import { RevokeKey, RotateKey } from '../../elements/key-acts.tsx'
import { KeyState } from '../../elements/key-state.tsx'
import { More } from '../../elements/more.tsx'
import { NameField } from '../../elements/name-field.tsx'
import { Said, useSaid } from '../../elements/said.tsx'
import { acts, Table } from '../../elements/table.tsx'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'

type ApiKey = Schemas['ApiKey']
type Created = Schemas['CreatedApiKey']

/** OAuth clients of the account itself, which get tokens with a client secret. */
export function Services({ onCreated }: { onCreated: (created: Created) => void }) {
  const services = usePages('services', (page, signal) => {
    const query = { ...accountQuery(), kind: 'client', ...page } as const
    return bodyOf(GET('/api/keys', { params: { query }, signal }))
  })
  const [said, say] = useSaid()
  const revoked = (text: string) => {
    say(text)
    services.again()
  }
  return (
    <section class="card applications">
      <div class="head">
        <h2>Services</h2>
        <DialogButton button={{ text: 'Create a service…', class: 'plain' }}>
          {(close) => <NewService onClose={close} onCreated={onCreated} />}
        </DialogButton>
      </div>
      <p class="quiet">
        A service calls models without a person who signs in. It gets tokens for one hour with its
        client id and secret (OAuth 2.0 client credentials).
      </p>
      <Said said={said} />
      <WhenLoaded loaded={services} what="Loading the services">
        {(all) =>
          all.length === 0 ? (
            <p class="quiet">No services yet. For most programs an API key is enough.</p>
          ) : (
            <Table
              label="Services"
              class="stacked"
              columns={['Name', 'Client id', 'Last used', 'State', acts]}
            >
              {all.map((service) => (
                <Row key={service.id} {...{ service, onCreated }} onRevoked={revoked} />
              ))}
            </Table>
          )
        }
      </WhenLoaded>
      <More more={services.more} />
    </section>
  )
}

type RowProps = {
  service: ApiKey
  onCreated: (created: Created) => void
  onRevoked: (said: string) => void
}

function Row({ service, onCreated, onRevoked }: RowProps) {
  const { name, state } = service
  return (
    <tr>
      <td class="first">
        <a href={addressOf(`/keys/${service.id}`)}>{name}</a>
      </td>
      <td class="whole across">
        <code>{service.client?.id}</code>
      </td>
      <td class="whole" data-head="Last used">
        <Time at={service.last_used_at} />
      </td>
      <td class="beside">
        <KeyState state={state} />
      </td>
      <td class="act across">
        {state === 'active' && (
          <div class="row">
            {service.replaced_by === null && (
              <RotateKey
                apiKey={service}
                button={{ text: 'Rotate…', class: 'plain small', label: `Rotate ${name}` }}
                onRotated={onCreated}
              />
            )}
            <RevokeKey
              apiKey={service}
              button={{ text: 'Revoke…', class: 'danger small', label: `Revoke ${name}` }}
              onDone={onRevoked}
            >
              <p>
                It gets no new tokens, and its current tokens stop working within two seconds. This
                cannot be undone.
              </p>
            </RevokeKey>
          </div>
        )}
      </td>
    </tr>
  )
}

type NewProps = { onClose: () => void; onCreated: (created: Created) => void }

function NewService({ onClose, onCreated }: NewProps) {
  const creating = useAct(async (form: FormData) => {
    const { name = '', usd } = textsOf(form)
    const body = {
      kind: 'client',
      name: name.trim(),
      mode: form.get('mode') === 'test' ? 'test' : 'live',
      budget: usd === undefined ? null : ({ usd: usd.trim(), period: 'month' } as const),
    } as const
    onCreated(await bodyOf(POST('/api/keys', { params: { query: accountQuery() }, body })))
  })
  return (
    <Dialog title="Create a service" onClose={onClose} isLocked={creating.isBusy}>
      <Failure error={creating.error} />
      <Form send={creating.run}>
        <NameField fault={creating.faultAt('name')} />
        <SelectField
          label="Mode"
          name="mode"
          choices={[
            ['live', 'live: reaches the providers'],
            ['test', 'test: reaches the sandbox, and costs nothing'],
          ]}
        />
        <DollarField
          label="Budget in dollars a month"
          hint="Leave it empty for no budget of its own. Everything else can be changed later."
          fault={creating.faultAt('budget')}
        />
        <button disabled={creating.isBusy}>
          {creating.isBusy ? 'Creating…' : 'Create the service'}
        </button>
      </Form>
    </Dialog>
  )
}
