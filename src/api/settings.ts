import type { components } from '../../generated/types.ts'
import type { Actor, Caller } from '../core/caller.ts'
import { cacheEntryBytesMax } from '../core/repeats/cached-answer.ts'
import type { Operations } from '../http/contract-router.ts'
import { actorOf } from '../http/operation.ts'
import { ok } from './answers.ts'

type Schemas = components['schemas']

/** The models that a caller may use, or only the named model. Rejects with a GatewayError. */
export type DescribeCatalog = (
  caller: Caller,
  model: string | undefined,
) => Promise<Schemas['CatalogList']>
export type DescribeProviders = () => Promise<Schemas['ProviderList']>

export type Reloaded = Schemas['Reload']
/** Reads the settings again. On rejection with a GatewayError, the settings are unchanged. */
export type Reload = (by: Actor) => Promise<Reloaded>

/** Reads and replaces the stored settings. The methods reject with a GatewayError. */
export type StoredSettingsActs = {
  read(): Promise<Schemas['StoredSettings']>
  replace(by: Actor, content: string): Promise<Schemas['StoredSettings']>
}

/** Dependencies of the operations on settings and configured models. */
export type SettingParts = {
  describeCatalog: DescribeCatalog
  describeProviders: DescribeProviders
  /** The limits of the settings currently in effect. */
  limitsInForce: () => { cacheTtlSeconds: number }
  reload: Reload
  storedSettings: StoredSettingsActs
}

/** The handlers of settings. */
export function settingOperations(parts: SettingParts) {
  return {
    listCatalog: async ({ caller, query }) => ({
      status: 200,
      json: await parts.describeCatalog(caller, query.model),
      mayBeCoded: true,
    }),
    listProviders: async () => ok(await parts.describeProviders()),
    retrieveCache: async () => {
      const { cacheTtlSeconds: ttl_seconds } = parts.limitsInForce()
      const entry_bytes_max = cacheEntryBytesMax
      return { status: 200, json: { object: 'response_cache', ttl_seconds, entry_bytes_max } }
    },
    retrieveStoredSettings: async () => ok(await parts.storedSettings.read()),
    replaceStoredSettings: async (call) =>
      ok(await parts.storedSettings.replace(actorOf(call), call.body.content)),
    reloadSettings: async (call) => ok(await parts.reload(actorOf(call))),
  } satisfies Partial<Operations>
}
