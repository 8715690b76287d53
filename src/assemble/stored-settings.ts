import { createProviderKeys } from '../accounts/provider-keys.ts'
import { createStoredSettings } from '../accounts/stored-settings.ts'
import type { ProviderKeyActs } from '../api/provider-keys.ts'
import type { StoredSettingsActs } from '../api/settings.ts'
import { GatewayError } from '../core/error.ts'
import { testKey, testNewKey } from '../providers/key-test.ts'
import { ConfigError, type Loaded, type ReadSettings } from '../settings/config.ts'
import { checkProviderKey, endpointWithKey, settingsWith } from '../settings/provider-key.ts'
import type { Calls } from './calls.ts'
import type { Generation } from './generation.ts'
import type { Environment, StoreParts } from './store.ts'

/** Keys of providers and settings that are in the store, as sources of settings. */
export type StoredSources = ReturnType<typeof assembleStored>

export function assembleStored(
  { config, events, clock }: Environment,
  { store, encryption, accounts, audit }: StoreParts,
  readWith: ReadSettings,
) {
  const keys = createProviderKeys({ store, accounts, audit, encryption, clock })
  const settings = createStoredSettings({ store, accounts, audit, clock })
  const version = async () => [await keys.version(), await settings.changedAt()].join()
  let read: string | undefined
  let timer: NodeJS.Timeout | undefined
  let isLooking = false
  const look = async (onChange: () => void): Promise<void> => {
    if (isLooking) return
    isLooking = true
    // When the store fails, the settings stay in use until the next look.
    const now = await version().catch(() => read)
    isLooking = false
    if (now !== read) onChange()
  }
  return {
    keys,
    settings,
    /** Reads all settings with the given values instead of the stored ones. Throws a ConfigError. */
    readWith,
    /**
     * Reads all settings with what is stored; if nothing is, `atStart` instead, if it is given. Stored settings
     * that have become invalid are not used. Rejects with a ConfigError, or an error of the store.
     */
    readSettings: async (atStart?: Loaded): Promise<Loaded> => {
      const now = await version()
      const { keys: stored, notices } = await keys.read()
      const { content } = await settings.read()
      const isEmpty = content === '' && Object.keys(stored).length === 0
      const { loaded, refusals } =
        isEmpty && atStart !== undefined
          ? { loaded: atStart, refusals: [] }
          : readUsable(readWith, stored, content)
      read = now
      const all = [...notices, ...refusals]
      for (const notice of all) events.storeNoticed(notice)
      return { ...loaded, doubts: [...loaded.doubts, ...all] }
    },
    /** Calls `onChange` when another process changed what `readSettings` read last. */
    watch: (onChange: () => void) => {
      timer = setInterval(() => void look(onChange), config.limits.storedRecheckMs).unref()
    },
    close: () => clearInterval(timer),
  }
}

/** Settings with what is stored, or without the stored settings if they make the whole invalid. */
function readUsable(
  readWith: ReadSettings,
  keys: Readonly<Record<string, readonly string[]>>,
  content: string,
): { loaded: Loaded; refusals: string[] } {
  try {
    return { loaded: readWith({ keys, settings: content }), refusals: [] }
  } catch (error) {
    if (!(error instanceof ConfigError) || content === '') throw error
    const loaded = readWith({ keys })
    return { loaded, refusals: [`The stored settings are not used: ${error.inOneLine}`] }
  }
}

type ActParts = {
  stored: StoredSources
  calls: Pick<Calls, 'guardedConnector'>
  current: () => Pick<Generation, 'config' | 'secrets'>
  /** Reloads the settings after a change that is in the audit log. */
  apply: () => Promise<unknown>
}

/** Changes what is stored; a change is in use when its promise resolves. */
export function createStoredActs({ stored, calls, current, apply }: ActParts): {
  providerKeys: ProviderKeyActs
  storedSettings: StoredSettingsActs
} {
  const { keys, settings, readWith } = stored
  const applied = async (what: string): Promise<void> => {
    await apply().catch((error: unknown) => {
      if (!(error instanceof GatewayError)) throw error
      throw new GatewayError(error.code, `${what}, but not applied. ${error.message}`)
    })
  }
  /** Reads all settings with the stored settings and other keys. */
  const withKeys = async (): Promise<ReadSettings> => {
    const { content } = await settings.read()
    return (storedSettings = {}) => readWith({ settings: content, ...storedSettings })
  }
  return {
    providerKeys: {
      create: async (by, providerId, { key, replaces: id, force }) => {
        const endpoint = checkProviderKey(await withKeys(), providerId, key)
        const test = await testNewKey(endpoint, key, calls.guardedConnector, force)
        const replaces = id === undefined ? undefined : { id }
        const made = await keys.create(by, providerId, key, replaces)
        await applied('The key was stored')
        return { ...made, is_used: current().config.keySources[providerId] === 'store', test }
      },
      remove: async (by, providerId, id) => {
        await keys.remove(by, providerId, { id })
        await applied('The key was removed')
      },
      test: async (providerId, { key, id }) => {
        const [inUse] = current().secrets.providerKeys[providerId] ?? []
        const tested = key ?? (id === undefined ? inUse : await keys.reveal(providerId, id))
        const endpoint = endpointWithKey(await withKeys(), providerId, tested ?? '')
        return testKey(endpoint, tested, calls.guardedConnector)
      },
    },
    storedSettings: {
      read: settings.read,
      replace: async (by, content) => {
        const { keys: all } = await keys.read()
        settingsWith(readWith, { keys: all, settings: content })
        const replaced = await settings.replace(by, content)
        await applied('The settings were stored')
        return replaced
      },
    },
  }
}
