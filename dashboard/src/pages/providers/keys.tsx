import { useState } from 'preact/hooks'
import { bodyOf, DELETE, POST, type Schemas } from '../../data/api.ts'
import { useAct } from '../../data/load.ts'
import { AskFirst } from '../../elements/ask-first.tsx'
import { DialogButton } from '../../elements/dialog-button.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Time } from '../../elements/time.tsx'
import { EntryForm, type Entry } from './entry-form.tsx'
import type { Provider } from './state.tsx'

type ProviderKey = Schemas['ProviderKey']

const paramsOf = ({ id }: Provider) => ({ path: { provider_id: id } })

/** The form of a key of a provider, which the gateway tests first; `replaces` is the stored key in its place. */
export function keyForm(provider: Provider, replaces?: ProviderKey): Entry {
  const { name } = provider
  return {
    title: replaces === undefined ? `Add a key of ${name}` : `Replace the key ${replaces.hint}`,
    fields: [
      {
        name: 'key',
        label: `API key of ${name}`,
        hint: 'It is tested first, stored encrypted, and not shown again.',
        words: /./,
        required: true,
        isSecret: true,
      },
    ],
    mayForceAfter: 'provider_key_rejected',
    save: async ({ key = '' }, force) => {
      const body = { key, force, ...(replaces !== undefined && { replaces: replaces.id }) }
      const init = { params: paramsOf(provider), body }
      const { hint, test } = await bodyOf(POST('/api/providers/{provider_id}/keys', init))
      return `The key ${hint} of ${name} is stored. ${test?.message ?? ''}`
    },
  }
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
    const init = { params: paramsOf(provider), body: { id } }
    setResult(await bodyOf(POST('/api/providers/{provider_id}/key-test', init)))
  })
  const test = testing.isBusy ? 'Testing…' : 'Test'
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
          aria-label={`${test} the key ${hint}`}
          disabled={testing.isBusy}
          onClick={() => void testing.run()}
        >
          {test}
        </button>
        <DialogButton
          button={{ text: 'Replace', class: 'plain small', label: `Replace the key ${hint}` }}
        >
          {(close) => <EntryForm {...keyForm(provider, stored)} onClose={close} onDone={onDone} />}
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
      <p class={result?.accepted === false ? 'fault' : 'hint'} role="status">
        {result?.message}
      </p>
    </li>
  )
}

function unusedText({ key_source: source, setting }: Provider): string {
  return source === 'environment' ? `not used: ${setting} is set` : 'not used: cannot be decrypted'
}
