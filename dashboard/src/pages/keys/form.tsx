import { useState } from 'preact/hooks'
import { ScopeValues } from '../../../../generated/client-values.ts'
import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { useLoad } from '../../data/load.ts'
import { addressOf } from '../../data/place.ts'
import { accountQuery, isOperator } from '../../data/session.ts'
import { allowanceOf, BudgetFields, LimitFields } from '../../elements/allowance.tsx'
import { Field } from '../../elements/field.tsx'
import { NameField } from '../../elements/name-field.tsx'

type ApiKey = Schemas['ApiKey']
type Props = {
  /** What is to be changed; undefined where it is made. */
  apiKey?: ApiKey | undefined
  faultAt: (param: string) => string | undefined
}

const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone

const scopeHints: Record<Schemas['Scope'], string> = {
  inference: 'Call models',
  'usage:read': "Read the account's usage",
  'keys:write': 'Make, change and end keys',
  admin: 'All of this, and whatever else concerns the account',
}

/** Everything that can be said of a key, when it is made and later. */
export function KeyFields({ apiKey, faultAt }: Props) {
  return (
    <>
      <NameField
        hint="What uses it, as people will know it."
        name={apiKey?.name}
        fault={faultAt('name')}
      />
      {apiKey === undefined && <ModeChoice />}
      {apiKey !== undefined && apiKey.bound_to !== null ? (
        <p class="hint">
          All else is that of <a href={addressOf(`/keys/${apiKey.bound_to}`)}>the key</a> with which
          it was connected.
        </p>
      ) : (
        <>
          <Spending apiKey={apiKey} faultAt={faultAt} />
          <Permissions apiKey={apiKey} faultAt={faultAt} />
        </>
      )}
    </>
  )
}

function ModeChoice() {
  const catalog = useLoad('providers of live keys', (signal) =>
    bodyOf(GET('/api/models', { params: { query: accountQuery() }, signal })),
  )
  const isUseless = catalog.data?.data.every((entry) => !entry.is_usable) === true
  const [picked, pick] = useState<Schemas['Mode']>()
  const mode = picked ?? (isUseless ? 'test' : 'live')
  return (
    <fieldset>
      <legend>Mode</legend>
      {isUseless && (
        <p class="hint above">
          No provider is set up, so that calls with a live key are refused.{' '}
          {isOperator.value ? (
            <>
              <a href={addressOf('/providers')}>Providers</a> says what is missing.
            </>
          ) : (
            'Those who run the gateway add the key of a provider to its settings.'
          )}
        </p>
      )}
      <label class="choice">
        <input
          type="radio"
          name="mode"
          value="live"
          checked={mode === 'live'}
          onChange={() => pick('live')}
        />
        <span>
          Live <span class="quiet">reaches the providers and costs what they charge</span>
        </span>
      </label>
      <label class="choice">
        <input
          type="radio"
          name="mode"
          value="test"
          checked={mode === 'test'}
          onChange={() => pick('test')}
        />
        <span>
          Test <span class="quiet">reaches the sandbox and costs nothing</span>
        </span>
      </label>
    </fieldset>
  )
}

function Permissions({ apiKey, faultAt }: Props) {
  const {
    scopes = ['inference'],
    models,
    allowed_addresses: addresses,
    expires_at: end,
  } = apiKey ?? {}
  return (
    <details open={apiKey !== undefined}>
      <summary>What it may do, and from where</summary>
      {(apiKey?.kind ?? 'key') === 'key' && (
        <fieldset>
          <legend>Scopes</legend>
          {ScopeValues.map((scope) => (
            <label class="choice" key={scope}>
              <input
                type="checkbox"
                name="scopes"
                value={scope}
                defaultChecked={scopes.includes(scope)}
              />
              <span>
                {scope} <span class="quiet">{scopeHints[scope]}</span>
              </span>
            </label>
          ))}
        </fieldset>
      )}
      <Field
        label="Models"
        hint="One a line. Leave it empty to allow all models."
        fault={faultAt('models')}
      >
        {(attributes) => (
          <textarea
            {...attributes}
            name="models"
            rows={3}
            defaultValue={models?.join('\n') ?? ''}
          />
        )}
      </Field>
      <Field
        label="Addresses"
        hint="Networks it may be used from, one a line, such as 203.0.113.0/24. Leave it empty to allow any."
        fault={faultAt('allowed_addresses')}
      >
        {(attributes) => (
          <textarea
            {...attributes}
            name="addresses"
            rows={2}
            defaultValue={addresses?.join('\n') ?? ''}
          />
        )}
      </Field>
      {apiKey?.kind !== 'session' && (
        <Expiry isNew={apiKey === undefined} end={end ?? null} fault={faultAt('expires_at')} />
      )}
    </details>
  )
}

type ExpiryProps = { isNew: boolean; end: string | null; fault: string | undefined }

/** When it ends; that of a new one is to come. */
function Expiry({ isNew, end, fault }: ExpiryProps) {
  return (
    <Field
      label="Expires"
      hint={`In your time zone, ${zone}. Leave it empty for a key that does not expire.`}
      fault={fault}
    >
      {(attributes) => (
        <input
          {...attributes}
          name="expires"
          type="datetime-local"
          step={1}
          min={isNew ? localText(new Date().toISOString()) : undefined}
          // What is folded away could not say what is wrong with it.
          onInvalid={({ currentTarget }) =>
            currentTarget.closest('details')?.setAttribute('open', '')
          }
          defaultValue={end === null ? '' : localText(end)}
        />
      )}
    </Field>
  )
}

function Spending({ apiKey, faultAt }: Props) {
  return (
    <>
      <div class="columns">
        <BudgetFields
          budget={apiKey?.budget}
          hint="Leave it empty for no budget of its own."
          fault={faultAt('budget')}
        />
      </div>
      <fieldset>
        <legend>Limits</legend>
        <p class="hint above">
          Leave a field empty for no limit of its own. 0 lets nothing through.
        </p>
        <div class="columns">
          <LimitFields limits={apiKey?.limits} faultAt={faultAt} />
        </div>
      </fieldset>
    </>
  )
}

/** What a filled form asks for: what is empty is lifted. */
export function keyOf(form: FormData) {
  const texts = textsOf(form)
  const { name = '', expires } = texts
  const lines = (field: string) =>
    (texts[field] ?? '').split(/[\s,]+/).filter((line) => line !== '')
  const listOf = (field: string) => (lines(field).length === 0 ? null : lines(field))
  return {
    name: name.trim(),
    models: listOf('models'),
    allowed_addresses: listOf('addresses'),
    ...allowanceOf(texts),
    expires_at: expires === undefined ? null : new Date(expires).toISOString(),
  } satisfies Schemas['ApiKeyChange']
}

/** The scopes that were chosen. */
export function scopesOf(form: FormData): Schemas['Scope'][] {
  // The boxes have the contract's own values.
  return form.getAll('scopes') as Schemas['Scope'][]
}

/** A time as a field for times takes it, in the reader's own zone. */
function localText(at: string): string {
  const date = new Date(at)
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length)
}
