import { useState } from 'preact/hooks'
import { bodyOf, GET, PATCH, type Schemas } from '../../data/api.ts'
import { useAct, useLoad } from '../../data/load.ts'
import { addressOf } from '../../data/place.ts'
import { accountQuery } from '../../data/session.ts'
import { Head } from '../../elements/head.tsx'
import { limitFields } from '../../elements/allowance.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Form } from '../../elements/form.tsx'
import { Gauge } from '../../elements/gauge.tsx'
import { Refusals } from '../../elements/refusals.tsx'
import { RevokeKey, RotateKey } from '../../elements/key-acts.tsx'
import { KeyState } from '../../elements/key-state.tsx'
import { Said, useSaid } from '../../elements/said.tsx'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { Created } from './created.tsx'
import { KeyFields, keyOf, scopesOf } from './form.tsx'

type ApiKey = Schemas['ApiKey']

/** One key: its settings, budget and refusals, with buttons to change, rotate and revoke it. */
export function OneKey({ id }: { id: string }) {
  const key = useLoad(`key ${id}`, (signal) =>
    bodyOf(GET('/api/keys/{id}', { params: { path: { id }, query: accountQuery() }, signal })),
  )
  const [rotated, setRotated] = useState<Schemas['CreatedApiKey']>()
  const [isChanging, setChanging] = useState(false)
  const [said, say] = useSaid()
  if (rotated !== undefined) return <Created created={rotated} />
  const done = (text: string) => {
    say(text)
    setChanging(false)
    key.again()
  }
  return (
    <>
      <Head title={key.data?.name ?? 'API key'}>
        <a href={addressOf('/keys')}>All keys</a>
      </Head>
      <Said said={said} />
      <WhenLoaded loaded={key} what="Loading the key">
        {(apiKey) =>
          isChanging ? (
            <Change apiKey={apiKey} onDone={done} onCancel={() => setChanging(false)} />
          ) : (
            <About
              apiKey={apiKey}
              onChange={() => setChanging(true)}
              onRotated={setRotated}
              onRevoked={done}
            />
          )
        }
      </WhenLoaded>
    </>
  )
}

type AboutProps = {
  apiKey: ApiKey
  onChange: () => void
  onRotated: (created: Schemas['CreatedApiKey']) => void
  onRevoked: (said: string) => void
}

function About({ apiKey, onChange, onRotated, onRevoked }: AboutProps) {
  const { mode, state, id, budget, tag_budgets: tags } = apiKey
  // Only keys and OAuth clients have a secret that can be rotated.
  const hasSecret = apiKey.kind === 'key' || apiKey.kind === 'client'
  const mayBeRotated = state === 'active' && hasSecret && apiKey.replaced_by === null
  return (
    <>
      {budget !== null && (
        <section class="card">
          <h2>Budget</h2>
          <Gauge budget={budget} />
        </section>
      )}
      {tags.length > 0 && (
        <section class="card">
          <h2>Budgets of tags</h2>
          {tags.map((one) => (
            <div key={one.tag}>
              <h3>
                <a href={addressOf('/requests', { key_id: id, mode, tag: one.tag })}>{one.tag}</a>
              </h3>
              <Gauge budget={one.budget} />
            </div>
          ))}
        </section>
      )}
      <Refusals mode={mode} keyId={id} isOpen />
      <section class="card">
        <Facts apiKey={apiKey} />
        <div class="row">
          <a class="button plain" href={addressOf('/requests', { key_id: id, mode })}>
            Show requests
          </a>
          {state !== 'revoked' && (
            <>
              <button type="button" class="plain" onClick={onChange}>
                Change
              </button>
              {mayBeRotated && (
                <RotateKey
                  apiKey={apiKey}
                  button={{ text: 'Rotate…', class: 'plain' }}
                  onRotated={onRotated}
                />
              )}
              <Revoke apiKey={apiKey} onDone={() => onRevoked('The key is revoked.')} />
            </>
          )}
        </div>
      </section>
    </>
  )
}

type RevokeProps = { apiKey: ApiKey; onDone: () => void }

function Revoke({ apiKey, onDone }: RevokeProps) {
  const { last_used_at: used } = apiKey
  return (
    <RevokeKey apiKey={apiKey} button={{ text: 'Revoke…', class: 'danger' }} onDone={onDone}>
      <p>
        Within two seconds the key and connections made with it stop working, and running calls are
        aborted. The key{' '}
        {used === null ? (
          'was never used'
        ) : (
          <>
            was last used <Time at={used} />
          </>
        )}
        . This cannot be undone. Its usage and requests are kept.
      </p>
    </RevokeKey>
  )
}

function Facts({ apiKey }: { apiKey: ApiKey }) {
  const { models, allowed_addresses: addresses, limits, replaced_by: successor } = apiKey
  return (
    <dl class="facts">
      <dt>Key</dt>
      <dd>
        <code>{apiKey.hint}</code> <KeyState state={apiKey.state} />
      </dd>
      {successor !== null && (
        <>
          <dt>Replaced</dt>
          <dd>
            {apiKey.state === 'active' && <Ends at={apiKey.expires_at} />}replaced by{' '}
            <a href={addressOf(`/keys/${successor}`)}>its successor</a>
          </dd>
        </>
      )}
      <dt>Mode</dt>
      <dd>
        {apiKey.mode}
        {apiKey.cassette && `, with the cassette ${apiKey.cassette}`}
      </dd>
      <dt>Scopes</dt>
      <dd>{apiKey.scopes.join(', ')}</dd>
      <dt>Models</dt>
      <dd>{models === null ? 'all' : models.join(', ')}</dd>
      <dt>Addresses</dt>
      <dd>{addresses === null ? 'any' : addresses.join(', ')}</dd>
      {apiKey.budget === null && (
        <>
          <dt>Budget</dt>
          <dd>none of its own</dd>
        </>
      )}
      <dt>Limits</dt>
      <dd>{limitsText(limits)}</dd>
      <dt>Last used</dt>
      <dd>
        <Time at={apiKey.last_used_at} />
      </dd>
      <dt>Created</dt>
      <dd>
        <Time at={apiKey.created_at} isWhole />
      </dd>
      <dt>Expires</dt>
      <dd>
        <Time at={apiKey.expires_at} isWhole />
      </dd>
    </dl>
  )
}

/** When a key that was replaced stops working. */
function Ends({ at }: { at: string | null }) {
  return (
    <>
      ends <Time at={at} />,{' '}
    </>
  )
}

function limitsText(limits: Schemas['Limits']): string {
  const own = limitFields.flatMap(({ name, label }) =>
    limits[name] === null ? [] : [`${limits[name].toLocaleString('en-US')} ${label.toLowerCase()}`],
  )
  return own.length === 0 ? 'none of its own' : own.join(', ')
}

type ChangeProps = { apiKey: ApiKey; onDone: (text: string) => void; onCancel: () => void }

function Change({ apiKey, onDone, onCancel }: ChangeProps) {
  const changing = useAct(async (form: FormData) => {
    const params = { path: { id: apiKey.id }, query: accountQuery() }
    await bodyOf(PATCH('/api/keys/{id}', { params, body: changeOf(apiKey, form) }))
    onDone('Saved. The change applies to all calls within two seconds.')
  })
  return (
    <Form class="card" send={changing.run}>
      <KeyFields apiKey={apiKey} faultAt={changing.faultAt} />
      <Failure error={changing.error} />
      <p class="row">
        <button disabled={changing.isBusy}>{changing.isBusy ? 'Saving…' : 'Save'}</button>
        <button type="button" class="plain" onClick={onCancel}>
          Cancel
        </button>
      </p>
    </Form>
  )
}

/** Converts the form to the changes of the key, without fields that this kind of key does not allow. */
function changeOf(apiKey: ApiKey, form: FormData): Schemas['ApiKeyChange'] {
  const { expires_at: end, name, ...rest } = keyOf(form)
  if (apiKey.bound_to !== null) return { name }
  // An unchanged expiry time is not sent: the gateway would refuse a time in the past.
  const isTouched = end === null || Math.trunc(Date.parse(end) / 1000) !== endSeconds(apiKey)
  const scopes = apiKey.kind === 'key' ? { scopes: scopesOf(form) } : {}
  const ending = isTouched && apiKey.kind !== 'session' ? { expires_at: end } : {}
  return { name, ...rest, ...scopes, ...ending }
}

function endSeconds({ expires_at: end }: ApiKey): number | undefined {
  return end === null ? undefined : Math.trunc(Date.parse(end) / 1000)
}
