import { commandLine } from '../accounts/audit.ts'
import { createProviderKeys } from '../accounts/provider-keys.ts'
import { readStoredSettings } from '../accounts/stored-settings.ts'
import { endpointConnector } from '../pictures/guarded-fetch.ts'
import { vendors } from '../providers/index.ts'
import { testNewKey } from '../providers/key-test.ts'
import { connectTimeoutMs } from '../providers/transport/lines.ts'
import { loadConfig, type ReadSettings } from '../settings/config.ts'
import { checkProviderKey, endpointWithKey } from '../settings/provider-key.ts'
import { createEncryption } from '../storage/encryption.ts'
import { json, jsonText, parsed, UsageError, type Command } from './command.ts'
import { dateText, tableText } from './lists.ts'
import { withStore, type Opened } from './with-store.ts'
import { counted } from '../core/words/counted.ts'

/** providers list: the stored keys, and the providers whose keys are in the environment. */
export const listProviders: Command = async (words, context) => {
  const { values } = parsed(words, json)
  return withStore('none', context, async (opened) => {
    const { keySources } = opened.config
    const rows = await keysIn(opened).list((id) => keySources[id] === undefined)
    const environment = Object.keys(keySources)
    if (values.json === true) return { text: jsonText({ environment, keys: rows }) }
    const cells = rows.map(({ id, provider, hint, is_used: isUsed, created_at: at }) => {
      return [id, provider, hint, isUsed ? 'yes' : 'no', dateText(at)]
    })
    const fromVariables = environment.map((id) => ['', id, 'environment', 'yes', ''])
    if (cells.length + fromVariables.length === 0)
      return { text: 'No provider has a key. Add one with `providers set-key <provider>`.\n' }
    const headings = ['Id', 'Provider', 'Key', 'Used', 'Added']
    return { text: tableText(headings, [...fromVariables, ...cells]) }
  })
}

/** providers set-key: reads a key from standard input, tests it, and replaces the provider's stored keys. */
export const setProviderKey: Command = async (words, context) => {
  const { values, positionals } = parsed(words, { ...json, force: { type: 'boolean' } }, 1)
  const [provider] = positionals
  if (provider === undefined) throw noProvider('set-key')
  const name = vendors.find(({ id }) => id === provider)?.name ?? provider
  return withStore('create', context, async (opened) => {
    const { content } = await readStoredSettings(opened.store)
    const readSettings: ReadSettings = (stored) =>
      loadConfig(context.readVariables(), { settings: content, ...stored })
    // A wrong name is told before the secret is asked for.
    endpointWithKey(readSettings, provider, 'a key')
    const key = (await context.readSecret(`API key of ${name}: `)).trim()
    if (key === '')
      throw new UsageError(
        `Standard input holds no key. For example: providers set-key ${provider} < file`,
      )
    const endpoint = checkProviderKey(readSettings, provider, key)
    const connector = endpointConnector(
      { connectTimeoutMs },
      () => opened.config.privateEndpointNetworks,
    )
    const test = await testNewKey(endpoint, key, connector, values.force)
    await opened.accounts.first()
    const made = await keysIn(opened).create(commandLine, provider, key, {})
    if (values.json === true) return { text: jsonText({ ...made, test }) }
    const source = opened.config.keySources[provider]
    const use =
      source === undefined
        ? 'A running gateway uses it within two seconds.'
        : 'The environment has a key of this provider, which is used instead.'
    return {
      text: `${test.message}\nStored ${made.id}, the key ${made.hint} of ${provider}. ${use}\n`,
    }
  })
}

/** providers remove-key: removes one stored key, or all of the provider. */
export const removeProviderKey: Command = async (words, context) => {
  const { values, positionals } = parsed(words, json, 2)
  const [provider, id] = positionals
  if (provider === undefined) throw noProvider('remove-key')
  return withStore('none', context, async (opened) => {
    await keysIn(opened).remove(commandLine, provider, id === undefined ? {} : { id })
    const what = id === undefined ? `the stored keys of ${provider}` : id
    return {
      text:
        values.json === true ? jsonText({ provider, removed: id ?? 'all' }) : `Removed ${what}.\n`,
    }
  })
}

/** providers encrypt-again: encrypts all stored keys with a new key, or with the first of ENCRYPTION_KEY. */
export const encryptProviderKeys: Command = async (words, context) => {
  const { values } = parsed(words, json)
  return withStore('none', context, async (opened) => {
    const count = await keysIn(opened).encryptAgain(commandLine)
    if (values.json === true) return { text: jsonText({ encrypted: count }) }
    const rest =
      opened.secrets.encryptionKey === undefined
        ? 'gateway.key in DATA_DIR also holds the previous encryption key, for older backups.'
        : 'The first key of ENCRYPTION_KEY encrypted them; the others are no longer needed, except for older backups.'
    return { text: `Encrypted ${counted(count, 'stored key')} again. ${rest}\n` }
  })
}

function keysIn({ store, accounts, audit, clock, config, secrets }: Opened) {
  const encryption = createEncryption({ ...config, ...secrets })
  return createProviderKeys({ store, accounts, audit, encryption, clock })
}

function noProvider(command: string): UsageError {
  const ids = vendors.map(({ id }) => id).join(', ')
  return new UsageError(
    `The provider is missing. Usage: providers ${command} <provider>, one of ${ids}.`,
  )
}
