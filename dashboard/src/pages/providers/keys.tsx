import { useState } from 'preact/hooks'
import { textLengths } from '../../../../generated/client-values.ts'
import { bodyOf, DELETE, POST, type Schemas } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { useAct } from '../../data/load.ts'
import { AskFirst } from '../../elements/ask-first.tsx'
import { DialogButton } from '../../elements/dialog-button.tsx'
import { Dialog } from '../../elements/dialog.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Field } from '../../elements/field.tsx'
import { Form } from '../../elements/form.tsx'
import { Time } from '../../elements/time.tsx'

type Provider = Schemas['ProviderReport']
type ProviderKey = Schemas['ProviderKey']
type Trial = Schemas['ProviderKeyTrial']

const paramsOf = ({ id }: Provider) => ({ path: { provider_id: id } })

function testKey(provider: Provider, body: Trial): Promise<Schemas['ProviderKeyTest']> {
  const init = { params: paramsOf(provider), body }
  return bodyOf(POST('/api/providers/{provider_id}/key-test', init))
}

function TestResult({ result }: { result: Schemas['ProviderKeyTest'] | undefined }) {
  return (
    <p class={result?.accepted === false ? 'fault' : 'hint'} role="status">
      {result?.message}
    </p>
  )
}

type FormProps = {
  provider: Provider
  /** The stored key that the new key replaces. */
  replaces?: string
  onDone: (said: string) => void
}

/** A form that stores an API key of a provider, which the gateway tests first. */
export function KeyForm({ provider, replaces, onDone }: FormProps) {
  const storing = useAct(async (form: HTMLFormElement, force: boolean) => {
    const { key = '' } = textsOf(new FormData(form))
    const body = { key, force, ...(replaces !== undefined && { replaces }) }
    const init = { params: paramsOf(provider), body }
    const { hint, test } = await bodyOf(POST('/api/providers/{provider_id}/keys', init))
    form.reset()
    onDone(`The key ${hint} of ${provider.name} is stored. ${test?.message ?? ''}`)
  })
  const fault = storing.faultAt('key')
  const rejected: Schemas['ErrorCode'] = 'provider_key_rejected'
  return (
    <Form send={(_filled, form) => storing.run(form, false)}>
      <Field
        label={`API key of ${provider.name}`}
        hint="It is tested first, stored encrypted, and not shown again."
        fault={fault}
      >
        {(attributes) => (
          <input
            {...attributes}
            name="key"
            type="password"
            autoComplete="off"
            spellcheck={false}
            maxLength={textLengths.ProviderSecret.max}
            required
            onInput={storing.forget}
          />
        )}
      </Field>
      {fault === undefined && <Failure error={storing.error} />}
      <p class="row">
        <button type="submit" disabled={storing.isBusy}>
          {storing.isBusy ? 'Testing…' : 'Save the key'}
        </button>
        {storing.error?.code === rejected && (
          <button
            type="button"
            class="plain"
            onClick={({ currentTarget: { form } }) => form && void storing.run(form, true)}
          >
            Save anyway
          </button>
        )}
      </p>
    </Form>
  )
}

type KeysProps = { provider: Provider; onDone: (said: string) => void }

/** The stored keys of a provider, with what a person can do with each. */
export function StoredKeys({ provider, onDone }: KeysProps) {
  if (provider.keys.length === 0) return null
  return (
    <ul class="provider-keys">
      {provider.keys.map((key) => (
        <StoredKey key={key.id} provider={provider} stored={key} onDone={onDone} />
      ))}
    </ul>
  )
}

function StoredKey({ provider, stored, onDone }: KeysProps & { stored: ProviderKey }) {
  const { id, hint } = stored
  const [result, setResult] = useState<Schemas['ProviderKeyTest']>()
  const testing = useAct(async () => {
    setResult(undefined)
    setResult(await testKey(provider, { id }))
  })
  return (
    <li>
      <p class="row">
        <code>{hint}</code>
        <span class="quiet">
          added <Time at={stored.created_at} />
        </span>
        {!stored.is_used && <span class="state bad">{unusedText(provider)}</span>}
        <button
          type="button"
          class="plain small"
          aria-label={`Test the key ${hint}`}
          disabled={testing.isBusy}
          onClick={() => void testing.run()}
        >
          {testing.isBusy ? 'Testing…' : 'Test'}
        </button>
        <DialogButton
          button={{ text: 'Replace', class: 'plain small', label: `Replace the key ${hint}` }}
        >
          {(close) => (
            <Dialog title={`Replace the key ${hint}`} onClose={close}>
              <KeyForm
                provider={provider}
                replaces={id}
                onDone={(said) => {
                  close()
                  onDone(said)
                }}
              />
            </Dialog>
          )}
        </DialogButton>
        <AskFirst
          button={{ text: 'Remove', class: 'plain small', label: `Remove the key ${hint}` }}
          title={`Remove the key ${hint}`}
          act="Remove the key"
          run={async () => {
            const init = { params: { path: { provider_id: provider.id, id } } }
            await bodyOf(DELETE('/api/providers/{provider_id}/keys/{id}', init))
            return `The key ${hint} of ${provider.name} is removed.`
          }}
          onDone={onDone}
        >
          <p>
            The gateway deletes its copy, and later calls do not use it. The key stays valid at{' '}
            {provider.name} until you revoke it there.
          </p>
        </AskFirst>
      </p>
      <Failure error={testing.error} />
      <TestResult result={result} />
    </li>
  )
}

function unusedText({ key_source: source, setting }: Provider): string {
  return source === 'environment' ? `not used: ${setting} is set` : 'not used: cannot be decrypted'
}
