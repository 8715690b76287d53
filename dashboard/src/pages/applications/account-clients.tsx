import { useState } from 'preact/hooks'
import { bodyOf, GET, POST, type Schemas } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { useAct } from '../../data/load.ts'
import { usePages } from '../../data/pages.ts'
import { addressOf } from '../../data/place.ts'
import { accountQuery } from '../../data/session.ts'
import { Dialog } from '../../elements/dialog.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Field } from '../../elements/field.tsx'
import { RevokeDialog, RotateDialog } from '../../elements/key-dialogs.tsx'
import { KeyState } from '../../elements/key-state.tsx'
import { Time } from '../../elements/time.tsx'
import { Waiting } from '../../elements/waiting.tsx'

type ApiKey = Schemas['ApiKey']
type Created = Schemas['CreatedApiKey']
type Asked = { act: 'create' } | { act: 'rotate' | 'revoke'; service: ApiKey }

/** Clients of the account itself, which get tokens with a secret. */
export function Services({ onCreated }: { onCreated: (created: Created) => void }) {
  const list = usePages('services', (cursor, signal) =>
    bodyOf(
      GET('/api/keys', {
        params: {
          query: { ...accountQuery(), kind: 'client', ...(cursor === undefined ? {} : { cursor }) },
        },
        ...(signal === undefined ? {} : { signal }),
      }),
    ),
  )
  const [asked, setAsked] = useState<Asked>()
  const [told, setTold] = useState<string>()
  const close = () => setAsked(undefined)
  return (
    <section class="card applications">
      <div class="head">
        <h2>Services</h2>
        <button type="button" class="plain" onClick={() => setAsked({ act: 'create' })}>
          Create a service…
        </button>
      </div>
      <p class="quiet">
        A service has nobody who signs in. It gets tokens for an hour with its id and its secret, as
        OAuth 2.0 has it (client_credentials), and calls models with them.
      </p>
      <p role="status" class="told">
        {told}
      </p>
      <Failure error={list.error} again={list.again} />
      {list.items === undefined ? (
        list.isLoading && <Waiting what="Loading the services" />
      ) : list.items.length === 0 ? (
        <p class="quiet">There are none. Most programs do well with an API key.</p>
      ) : (
        <Table services={list.items} onAsk={setAsked} />
      )}
      {list.more !== undefined && (
        <button type="button" class="plain" onClick={list.more}>
          Show more
        </button>
      )}
      {asked?.act === 'create' && <NewService onClose={close} onCreated={onCreated} />}
      {asked?.act === 'rotate' && (
        <RotateDialog apiKey={asked.service} onClose={close} onRotated={onCreated} />
      )}
      {asked?.act === 'revoke' && (
        <RevokeDialog
          apiKey={asked.service}
          onClose={close}
          onEnded={() => {
            setTold(`${asked.service.name} is revoked.`)
            close()
            list.again()
          }}
        >
          <p>
            It gets no more tokens, and those that it has are over within two seconds. It cannot be
            undone.
          </p>
        </RevokeDialog>
      )}
    </section>
  )
}

function Table({
  services,
  onAsk,
}: {
  services: readonly ApiKey[]
  onAsk: (asked: Asked) => void
}) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label="Services">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Client id</th>
            <th scope="col">Last used</th>
            <th scope="col">State</th>
            <th scope="col">
              <span class="hidden">Act</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {services.map((service) => (
            <tr key={service.id}>
              <td>
                <a href={addressOf(`/keys/${service.id}`)}>{service.name}</a>
              </td>
              <td>
                <code>{service.client?.id}</code>
              </td>
              <td>
                <Time at={service.last_used_at} />
              </td>
              <td>
                <KeyState state={service.state} />
              </td>
              <td>
                {service.state === 'active' && (
                  <div class="row">
                    {service.replaced_by === null && (
                      <button
                        type="button"
                        class="plain small"
                        aria-label={`Rotate ${service.name}`}
                        onClick={() => onAsk({ act: 'rotate', service })}
                      >
                        Rotate…
                      </button>
                    )}
                    <button
                      type="button"
                      class="danger small"
                      aria-label={`Revoke ${service.name}`}
                      onClick={() => onAsk({ act: 'revoke', service })}
                    >
                      Revoke…
                    </button>
                  </div>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
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
  const faultAt = (param: string) =>
    creating.error?.param?.startsWith(param) === true ? creating.error.message : undefined
  return (
    <Dialog title="Create a service" onClose={onClose} isFast={creating.isBusy}>
      <Failure error={creating.error} />
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void creating.run(new FormData(event.currentTarget))
        }}
      >
        <Field label="Name" fault={faultAt('name')}>
          {(attributes) => <input {...attributes} name="name" required maxLength={100} />}
        </Field>
        <Field label="Mode">
          {(attributes) => (
            <select {...attributes} name="mode">
              <option value="live">live: reaches the providers</option>
              <option value="test">test: reaches the sandbox, and costs nothing</option>
            </select>
          )}
        </Field>
        <Field
          label="Budget in dollars a month"
          hint="None of its own, where it is empty. All else can be changed later."
          fault={faultAt('budget')}
        >
          {(attributes) => (
            <input
              {...attributes}
              name="usd"
              inputMode="decimal"
              pattern="\d{1,7}(\.\d{1,9})?"
              title="Dollars, such as 25 or 2.50"
            />
          )}
        </Field>
        <button disabled={creating.isBusy}>
          {creating.isBusy ? 'Creating…' : 'Create the service'}
        </button>
      </form>
    </Dialog>
  )
}
