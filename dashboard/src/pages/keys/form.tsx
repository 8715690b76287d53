import { useState } from 'preact/hooks'
import { ScopeValues } from '../../../../generated/client-values.ts'
import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { useLoad } from '../../data/load.ts'
import { addressOf } from '../../data/place.ts'
import { accountQuery, isOperator, mayAdminister, membership } from '../../data/session.ts'
import { allowanceOf, BudgetFields, LimitFields } from '../../elements/allowance.tsx'
import { TextareaField } from '../../elements/controls.tsx'
import { InputField } from '../../elements/field.tsx'
import { ModelsField } from '../../elements/models-field.tsx'
import { NameField } from '../../elements/name-field.tsx'

type ApiKey = Schemas['ApiKey']
type Props = {
  /** The key to change; undefined for a new key. */
  apiKey?: ApiKey | undefined
  faultAt: (param: string) => string | undefined
}

const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone

const scopeHints: Record<Schemas['Scope'], string> = {
  inference: 'Call models',
  'usage:read': "Read the account's usage",
  'keys:write': 'Create, change and revoke keys',
  admin: 'All of the above, and everything else in the account',
}

/** What an empty field means. A new key of a member has the member's bound there. */
function emptyText(
  bound: keyof Schemas['KeyBounds'],
  { apiKey }: Pick<Props, 'apiKey'>,
  otherwise: string,
): string {
  if (!membership.value?.key_bounds?.[bound]) return otherwise
  return apiKey === undefined ? 'Leave it empty for your bound.' : 'At most your bound.'
}

/** Fields of a key, for creating and changing it. */
export function KeyFields({ apiKey, faultAt }: Props) {
  return (
    <>
      <NameField
        hint="For example, the program that uses the key."
        name={apiKey?.name}
        fault={faultAt('name')}
      />
      {apiKey === undefined && <ModeChoice />}
      {apiKey !== undefined && apiKey.bound_to !== null ? (
        <p class="hint">
          It was connected with <a href={addressOf(`/keys/${apiKey.bound_to}`)}>a key</a>. All other
          values are those of that key.
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
          No provider is configured, so calls with a live key fail.{' '}
          {isOperator.value ? (
            <>
              <a href={addressOf('/providers')}>Providers</a> shows which settings are missing.
            </>
          ) : (
            'An operator must add a provider key to the settings of the gateway.'
          )}
        </p>
      )}
      <label class="choice">
        <input
          type="radio"
          name="mode"
          value="live"
          checked={mode === 'live'}
          // A click on the chosen mode keeps it when the models are loaded.
          onClick={() => pick('live')}
        />
        <span>
          Live <span class="quiet">calls the providers, and costs what they charge</span>
        </span>
      </label>
      <label class="choice">
        <input
          type="radio"
          name="mode"
          value="test"
          checked={mode === 'test'}
          onClick={() => pick('test')}
        />
        <span>
          Test <span class="quiet">calls the sandbox, and costs nothing</span>
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
      <summary>Permissions and expiry</summary>
      {(apiKey?.kind ?? 'key') === 'key' && (
        <fieldset>
          <legend>Scopes</legend>
          {ScopeValues.filter((one) => one !== 'admin' || mayAdminister.value).map((scope) => (
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
      <ModelsField
        models={models ?? []}
        none={emptyText('models', { apiKey }, 'The key may call all models.')}
        fault={faultAt('models')}
      />
      <TextareaField
        label="Addresses"
        hint="IP addresses or networks that may use the key, one per line, such as 203.0.113.0/24. Leave it empty to allow any."
        fault={faultAt('allowed_addresses')}
        name="addresses"
        rows={2}
        defaultValue={addresses?.join('\n') ?? ''}
      />
      {apiKey?.kind !== 'session' && (
        <Expiry apiKey={apiKey} end={end ?? null} fault={faultAt('expires_at')} />
      )}
    </details>
  )
}

type ExpiryProps = Pick<Props, 'apiKey'> & { end: string | null; fault: string | undefined }

/** Field for the expiry time, which must be in the future for a new key. */
function Expiry({ apiKey, end, fault }: ExpiryProps) {
  const none = 'Leave it empty for a key that does not expire.'
  return (
    <InputField
      label="Expires"
      hint={`In your time zone, ${zone}. ${emptyText('expires_in_days', { apiKey }, none)}`}
      fault={fault}
      name="expires"
      type="datetime-local"
      step={1}
      min={apiKey === undefined ? localText(new Date().toISOString()) : undefined}
      // Opens the <details> around the field, since browsers show no error of a field in a closed one.
      onInvalid={({ currentTarget }) => currentTarget.closest('details')?.setAttribute('open', '')}
      defaultValue={end === null ? '' : localText(end)}
    />
  )
}

function Spending({ apiKey, faultAt }: Props) {
  return (
    <>
      <div class="columns">
        <BudgetFields
          budget={apiKey?.budget}
          hint={emptyText('budget', { apiKey }, 'Leave it empty for no budget of its own.')}
          fault={faultAt('budget')}
        />
      </div>
      <fieldset>
        <legend>Limits</legend>
        <p class="hint above">Leave a field empty for no limit of its own. 0 refuses every call.</p>
        <div class="columns">
          <LimitFields limits={apiKey?.limits} faultAt={faultAt} />
        </div>
      </fieldset>
      <TagBudgets apiKey={apiKey} faultAt={faultAt} />
    </>
  )
}

/** Rows of a tag and its budget. */
function TagBudgets({ apiKey, faultAt }: Props) {
  const own = apiKey?.tag_budgets ?? []
  const [rows, setRows] = useState(own.length)
  return (
    <details open={apiKey !== undefined}>
      <summary>Budgets of tags</summary>
      <p class="hint above">
        They limit what calls with a tag may cost, such as <code>team=search</code>. Empty a tag to
        remove its budget.
      </p>
      {Array.from({ length: rows }, (_, at) => (
        <div class="columns" key={at}>
          <InputField
            label={`Tag ${at + 1}`}
            fault={faultAt(`tag_budgets[${at}].tag`)}
            name="tag"
            defaultValue={own[at]?.tag ?? ''}
          />
          <BudgetFields
            of="tag_"
            budget={own[at]?.budget}
            hint="For the calls with this tag."
            fault={faultAt(`tag_budgets[${at}].budget`)}
          />
        </div>
      ))}
      <button type="button" class="plain small" onClick={() => setRows(rows + 1)}>
        Add a tag
      </button>
    </details>
  )
}

function tagBudgetsOf(form: FormData): Schemas['NewTagBudget'][] {
  // Text fields, one of each name in a row.
  const columns = ['tag', 'tag_usd', 'tag_period'].map((name) => form.getAll(name) as string[])
  const [tags = [], amounts = [], periods = []] = columns
  return tags.flatMap((tag, at) => {
    if (tag.trim() === '') return []
    const period = periods[at] as Schemas['BudgetPeriod']
    return [{ tag: tag.trim(), budget: { usd: amounts[at]!.trim(), period } }]
  })
}

/** Converts the form to a request body; an empty field removes the restriction. */
export function keyOf(form: FormData) {
  const texts = textsOf(form)
  const { name = '', expires } = texts
  const listOf = (values: readonly string[]) => (values.length === 0 ? null : [...values])
  return {
    name: name.trim(),
    // Hidden fields, which hold texts.
    models: listOf(form.getAll('models') as string[]),
    allowed_addresses: listOf((texts['addresses'] ?? '').split(/[\s,]+/).filter(Boolean)),
    ...allowanceOf(texts),
    tag_budgets: tagBudgetsOf(form),
    expires_at: expires === undefined ? null : new Date(expires).toISOString(),
  } satisfies Schemas['ApiKeyChange']
}

/** The selected scopes. */
export function scopesOf(form: FormData): Schemas['Scope'][] {
  // The checkboxes have only the contract's values.
  return form.getAll('scopes') as Schemas['Scope'][]
}

/** Formats a time for a `datetime-local` field, in the reader's time zone. */
function localText(at: string): string {
  const date = new Date(at)
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length)
}
