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

/** A form that tests and stores an API key of a provider. */
export function KeyForm({ provider, replaces, onDone }: FormProps) {
  const [result, setResult] = useState<Schemas['ProviderKeyTest']>()
  const testing = useAct(async (key: string) => {
    setResult(undefined)
    setResult(await testKey(provider, { key }))
  })
  const storing = useAct(async (key: string, form: HTMLFormElement) => {
    const body = replaces === undefined ? { key } : { key, replaces }
    const init = { params: paramsOf(provider), body }
    const { hint } = await bodyOf(POST('/api/providers/{provider_id}/keys', init))
    form.reset()
    onDone(`The key ${hint} of ${provider.name} is stored, and calls use it.`)
  })
  const isBusy = testing.isBusy || storing.isBusy
  const fault = storing.faultAt('key')
  return (
    <Form
      send={(filled, form) => {
        testing.forget()
        return storing.run(textsOf(filled)['key'] ?? '', form)
      }}
    >
      <Field
        label={`API key of ${provider.name}`}
        hint="It is stored encrypted, and not shown again."
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
            onInput={() => setResult(undefined)}
          />
        )}
      </Field>
      {fault === undefined && <Failure error={storing.error ?? testing.error} />}
      <TestResult result={result} />
      <p class="row">
        <button type="submit" disabled={isBusy}>
          {storing.isBusy ? 'Saving…' : 'Save the key'}
        </button>
        <button
          type="button"
          class="plain"
          disabled={isBusy}
          onClick={({ currentTarget: { form } }) => {
            if (form?.reportValidity() !== true) return
            void testing.run(textsOf(new FormData(form))['key'] ?? '')
          }}
        >
          {testing.isBusy ? 'Testing…' : 'Test the key'}
        </button>
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
