import { useState } from 'preact/hooks'
import { BudgetPeriodValues, ScopeValues } from '../../../../generated/client-values.ts'
import { bodyOf, POST, type Schemas } from '../../data/api.ts'
import { useAct } from '../../data/load.ts'
import { addressOf } from '../../data/place.ts'
import { accountQuery } from '../../data/session.ts'
import { Failure } from '../../elements/failure.tsx'
import { Field } from '../../elements/field.tsx'
import { Created } from './created.tsx'

type NewApiKey = Schemas['NewApiKey']

const periodNames = { day: 'a day', month: 'a month', total: 'in all' } as const
const scopeHints: Record<Schemas['Scope'], string> = {
  inference: 'Call models',
  'usage:read': "Read the account's usage",
  'keys:write': 'Make, change and end keys',
  admin: 'All of this, and whatever else concerns the account',
}

/** Creates a key with all that can be said of one, and shows it once. */
export function NewKey() {
  const [created, setCreated] = useState<Schemas['CreatedApiKey']>()
  const creating = useAct(async (form: FormData) => {
    const body = keyOf(form)
    setCreated(await bodyOf(POST('/api/keys', { params: { query: accountQuery() }, body })))
  })
  if (created !== undefined) return <Created created={created} />
  const faultAt = (param: string) =>
    creating.error?.param?.startsWith(param) === true ? creating.error.message : undefined
  return (
    <>
      <div class="head">
        <h1>Create a key</h1>
        <a href={addressOf('/keys')}>All keys</a>
      </div>
      <Failure error={creating.error} />
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault()
          void creating.run(new FormData(event.currentTarget))
        }}
      >
        <Field label="Name" hint="What uses it, as people will know it." fault={faultAt('name')}>
          {(attributes) => <input {...attributes} name="name" required maxLength={100} />}
        </Field>
        <ModeChoice />
        <Spending faultAt={faultAt} />
        <Permissions faultAt={faultAt} />
        <button disabled={creating.isBusy}>
          {creating.isBusy ? 'Creating…' : 'Create the key'}
        </button>
      </form>
    </>
  )
}

function ModeChoice() {
  return (
    <fieldset>
      <legend>Mode</legend>
      <label class="choice">
        <input type="radio" name="mode" value="live" defaultChecked />
        <span>
          Live <span class="quiet">reaches the providers and costs what they charge</span>
        </span>
      </label>
      <label class="choice">
        <input type="radio" name="mode" value="test" />
        <span>
          Test <span class="quiet">reaches the sandbox and costs nothing</span>
        </span>
      </label>
    </fieldset>
  )
}

type Faults = { faultAt: (param: string) => string | undefined }

function Permissions({ faultAt }: Faults) {
  return (
    <details>
      <summary>What it may do, and from where</summary>
      <fieldset>
        <legend>Scopes</legend>
        {ScopeValues.map((scope) => (
          <label class="choice" key={scope}>
            <input
              type="checkbox"
              name="scopes"
              value={scope}
              defaultChecked={scope === 'inference'}
            />
            <span>
              {scope} <span class="quiet">{scopeHints[scope]}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <Field label="Models" hint="One a line; all, where it is empty." fault={faultAt('models')}>
        {(attributes) => <textarea {...attributes} name="models" rows={3} />}
      </Field>
      <Field
        label="Addresses"
        hint="Networks it may be used from, one a line, as 203.0.113.0/24; everywhere, where it is empty."
        fault={faultAt('allowed_addresses')}
      >
        {(attributes) => <textarea {...attributes} name="addresses" rows={2} />}
      </Field>
      <Field label="Expires" hint="Never, where it is empty." fault={faultAt('expires_at')}>
        {(attributes) => <input {...attributes} name="expires" type="datetime-local" />}
      </Field>
    </details>
  )
}

function Spending({ faultAt }: Faults) {
  return (
    <>
      <div class="columns">
        <Field
          label="Budget in dollars"
          hint="None of its own, where it is empty."
          fault={faultAt('budget')}
        >
          {(attributes) => (
            <input {...attributes} name="usd" inputMode="decimal" pattern="\d{1,7}(\.\d{1,9})?" />
          )}
        </Field>
        <Field label="Budget for">
          {(attributes) => (
            <select {...attributes} name="period">
              {BudgetPeriodValues.map((period) => (
                <option key={period} value={period} selected={period === 'month'}>
                  {periodNames[period]}
                </option>
              ))}
            </select>
          )}
        </Field>
      </div>
      <div class="columns">
        {limitFields.map(({ name, label }) => (
          <Field key={name} label={label} fault={faultAt(`limits.${name}`)}>
            {(attributes) => <input {...attributes} name={name} type="number" min={0} step={1} />}
          </Field>
        ))}
      </div>
    </>
  )
}

type LimitName = keyof Schemas['Limits']
const limitFields: readonly { name: LimitName; label: string }[] = [
  { name: 'requests_per_minute', label: 'Requests a minute' },
  { name: 'tokens_per_minute', label: 'Tokens a minute' },
  { name: 'images_per_minute', label: 'Pictures a minute' },
  { name: 'concurrency', label: 'Calls at once' },
]

/** What a filled form asks for; what is empty is left out. */
function keyOf(form: FormData): NewApiKey {
  const text = (name: string) => {
    const given = form.get(name)
    return typeof given === 'string' ? given.trim() : ''
  }
  const lines = (name: string) =>
    text(name)
      .split(/[\s,]+/)
      .filter((line) => line !== '')
  const limits = Object.fromEntries(
    limitFields.flatMap(({ name }) => (text(name) === '' ? [] : [[name, Number(text(name))]])),
  )
  const [models, addresses] = [lines('models'), lines('addresses')]
  const expires = text('expires')
  return {
    name: text('name'),
    mode: text('mode') as NewApiKey['mode'],
    scopes: form.getAll('scopes') as Schemas['Scope'][],
    ...(models.length === 0 ? {} : { models }),
    ...(addresses.length === 0 ? {} : { allowed_addresses: addresses }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(text('usd') === ''
      ? {}
      : { budget: { usd: text('usd'), period: text('period') as Schemas['BudgetPeriod'] } }),
    ...(expires === '' ? {} : { expires_at: new Date(expires).toISOString() }),
  }
}
