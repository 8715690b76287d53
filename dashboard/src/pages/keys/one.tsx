import { useState } from 'preact/hooks'
import { bodyOf, DELETE, GET, POST, type Schemas } from '../../data/api.ts'
import { useAct, useLoad, type Loaded } from '../../data/load.ts'
import { addressOf } from '../../data/place.ts'
import { accountQuery } from '../../data/session.ts'
import { Dialog } from '../../elements/dialog.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Field } from '../../elements/field.tsx'
import { Money } from '../../elements/money.tsx'
import { Time } from '../../elements/time.tsx'
import { Waiting } from '../../elements/waiting.tsx'
import { Created } from './created.tsx'
import { KeyState } from './list.tsx'

type ApiKey = Schemas['ApiKey']

/** One key: what it may do, and what can be done with it. */
export function OneKey({ id }: { id: string }) {
  const key = useLoad(`key ${id}`, (signal) =>
    bodyOf(GET('/api/keys/{id}', { params: { path: { id }, query: accountQuery() }, signal })),
  )
  const [rotated, setRotated] = useState<Schemas['CreatedApiKey']>()
  if (rotated !== undefined) return <Created created={rotated} />
  return (
    <>
      <div class="head">
        <h1>{key.data?.name ?? 'API key'}</h1>
        <a href={addressOf('/keys')}>All keys</a>
      </div>
      <Failure error={key.error} again={key.again} />
      {key.data === undefined ? (
        key.isLoading && <Waiting what="Loading the key" />
      ) : (
        <About apiKey={key.data} again={key.again} onRotated={setRotated} />
      )}
    </>
  )
}

type AboutProps = Pick<Loaded<ApiKey>, 'again'> & {
  apiKey: ApiKey
  onRotated: (created: Schemas['CreatedApiKey']) => void
}

function About({ apiKey, again, onRotated }: AboutProps) {
  const [dialog, setDialog] = useState<'rotate' | 'revoke'>()
  const close = () => setDialog(undefined)
  return (
    <>
      <section class="card">
        <Facts apiKey={apiKey} />
        {apiKey.state === 'active' && (
          <p class="row">
            <button type="button" class="plain" onClick={() => setDialog('rotate')}>
              Rotate…
            </button>
            <button type="button" class="danger" onClick={() => setDialog('revoke')}>
              Revoke…
            </button>
          </p>
        )}
      </section>
      {dialog === 'rotate' && <Rotation apiKey={apiKey} onClose={close} onRotated={onRotated} />}
      {dialog === 'revoke' && (
        <Revocation
          apiKey={apiKey}
          onClose={() => {
            close()
            again()
          }}
        />
      )}
    </>
  )
}

function Facts({ apiKey }: { apiKey: ApiKey }) {
  const { budget, models, allowed_addresses: addresses } = apiKey
  return (
    <dl class="facts">
      <dt>Key</dt>
      <dd>
        <code>{apiKey.hint}</code> <KeyState state={apiKey.state} />
      </dd>
      <dt>Mode</dt>
      <dd>{apiKey.mode}</dd>
      <dt>Scopes</dt>
      <dd>{apiKey.scopes.join(', ')}</dd>
      <dt>Models</dt>
      <dd>{models === null ? 'all' : models.join(', ')}</dd>
      <dt>Addresses</dt>
      <dd>{addresses === null ? 'everywhere' : addresses.join(', ')}</dd>
      <dt>Budget</dt>
      <dd>
        {budget === null ? (
          'none of its own'
        ) : (
          <>
            <Money usd={budget.amount.usd} /> ({budget.period})
          </>
        )}
      </dd>
      <dt>Last used</dt>
      <dd>
        <Time at={apiKey.last_used_at} />
      </dd>
      <dt>Created</dt>
      <dd>
        <Time at={apiKey.created_at} />
      </dd>
      <dt>Expires</dt>
      <dd>
        <Time at={apiKey.expires_at} />
      </dd>
    </dl>
  )
}

type RotationProps = Pick<AboutProps, 'apiKey' | 'onRotated'> & { onClose: () => void }

function Rotation({ apiKey, onClose, onRotated }: RotationProps) {
  const [minutes, setMinutes] = useState(60)
  const rotating = useAct(async () => {
    const { id } = apiKey
    const params = { path: { id }, query: accountQuery() }
    const body = { overlap_minutes: minutes }
    onRotated(await bodyOf(POST('/api/keys/{id}/rotate', { params, body })))
  })
  return (
    <Dialog title={`Rotate ${apiKey.name}`} onClose={onClose} isFast={rotating.isBusy}>
      <p>
        A new key takes its place. The old one goes on working for a while, so that nothing stops.
      </p>
      <Failure error={rotating.error} />
      <Field label="Minutes in which both work" hint="At most seven days.">
        {(attributes) => (
          <input
            {...attributes}
            type="number"
            min={0}
            max={10080}
            value={minutes}
            onInput={(event) => setMinutes(event.currentTarget.valueAsNumber)}
          />
        )}
      </Field>
      <button type="button" disabled={rotating.isBusy} onClick={() => void rotating.run()}>
        Rotate the key
      </button>
    </Dialog>
  )
}

function Revocation({ apiKey, onClose }: Omit<RotationProps, 'onRotated'>) {
  const revoking = useAct(async () => {
    const { id } = apiKey
    await bodyOf(DELETE('/api/keys/{id}', { params: { path: { id }, query: accountQuery() } }))
    onClose()
  })
  return (
    <Dialog title={`Revoke ${apiKey.name}`} onClose={onClose} isFast={revoking.isBusy}>
      <p>
        Whatever uses it is refused from now on, and calls under way are ended. It cannot be undone.
      </p>
      <Failure error={revoking.error} />
      <button
        type="button"
        class="danger"
        disabled={revoking.isBusy}
        onClick={() => void revoking.run()}
      >
        Revoke the key
      </button>
    </Dialog>
  )
}
