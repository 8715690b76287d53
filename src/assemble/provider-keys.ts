import { createProviderKeys, type ProviderKeys } from '../accounts/provider-keys.ts'
import type { ProviderKeyActs } from '../api/provider-keys.ts'
import { GatewayError } from '../core/error.ts'
import { testKey } from '../providers/key-test.ts'
import type { Loaded, ReadSettings } from '../settings/config.ts'
import { checkProviderKey, endpointWithKey } from '../settings/provider-key.ts'
import { createEncryption } from '../storage/encryption.ts'
import type { Generation } from './generation.ts'
import type { Environment, StoreParts } from './store.ts'

/** The interval in which changes by other processes and by the command line are noticed. */
const recheckMs = 2000

/** The keys of providers that are in the store, as a source of settings. */
export type StoredKeys = ProviderKeys & {
  /** Reads all settings with these keys instead of the stored ones. Throws a ConfigError. */
  readWith: ReadSettings
  /**
   * Reads all settings with the stored keys; without stored keys, `atStart` instead, if it is given. Rejects
   * with a ConfigError, or an error of the store.
   */
  readSettings: (atStart?: Loaded) => Promise<Loaded>
  /** Calls `onChange` when another process changed the keys that `readSettings` read last. */
  watch: (onChange: () => void) => void
  close: () => void
}

export function assembleStoredKeys(
  { config, secrets, events, clock }: Environment,
  { store, accounts, audit }: StoreParts,
  readWith: ReadSettings,
): StoredKeys {
  const encryption = createEncryption({ ...config, ...secrets })
  const keys = createProviderKeys({ store, accounts, audit, encryption, clock })
  let read: string | undefined
  let timer: NodeJS.Timeout | undefined
  let isLooking = false
  const look = async (onChange: () => void): Promise<void> => {
    if (isLooking) return
    isLooking = true
    // When the store fails, the keys stay in use until the next look.
    const version = await keys.version().catch(() => read)
    isLooking = false
    if (version !== read) onChange()
  }
  return {
    ...keys,
    readWith,
    readSettings: async (atStart) => {
      const { keys: stored, version, notices } = await keys.read()
      const hasKeys = Object.keys(stored).length > 0
      const loaded = atStart === undefined || hasKeys ? readWith(stored) : atStart
      read = version
      for (const notice of notices) events.storeNoticed(notice)
      return { ...loaded, doubts: [...loaded.doubts, ...notices] }
    },
    watch: (onChange) => {
      const recheck = config.limits.providerKeysRecheckMs ?? recheckMs
      timer = setInterval(() => void look(onChange), recheck).unref()
    },
    close: () => clearInterval(timer),
  }
}

type ActParts = {
  storedKeys: StoredKeys
  current: () => Pick<Generation, 'config' | 'secrets'>
  /** Reloads the settings after a change that is in the audit log. */
  apply: () => Promise<unknown>
}

/** Adds, removes and tests keys of providers; a change is in use when its promise resolves. */
export function createProviderKeyActs({ storedKeys, current, apply }: ActParts): ProviderKeyActs {
  const { readWith } = storedKeys
  const applied = async (what: string): Promise<void> => {
    await apply().catch((error: unknown) => {
      if (!(error instanceof GatewayError)) throw error
      throw new GatewayError(error.code, `The key was ${what}, but not applied. ${error.message}`)
    })
  }
  return {
    create: async (by, providerId, { key, replaces: id }) => {
      checkProviderKey(readWith, providerId, key)
      const replaces = id === undefined ? undefined : { id }
      const { is_readable: _, ...made } = await storedKeys.create(by, providerId, key, replaces)
      await applied('stored')
      return { ...made, is_used: current().config.keySources[providerId] === 'store' }
    },
    remove: async (by, providerId, id) => {
      await storedKeys.remove(by, providerId, { id })
      await applied('removed')
    },
    test: async (providerId, { key, id }) => {
      const [inUse] = current().secrets.providerKeys[providerId] ?? []
      const tested = key ?? (id === undefined ? inUse : await storedKeys.reveal(providerId, id))
      return testKey(endpointWithKey(readWith, providerId, tested ?? ''), tested)
    },
  }
}
