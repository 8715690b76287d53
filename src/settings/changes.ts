import { isDeepStrictEqual } from 'node:util'
import { settings } from '../../generated/settings.ts'
import { camelCase, isSecret, type Config, type Loaded, type Secrets } from './config.ts'
import { vendors } from '../providers/index.ts'
import type { Vendor } from '../providers/vendor.ts'
import { modelSettings } from './model-names.ts'

type Settings = Pick<Loaded, 'config' | 'secrets'>

/** The effect of reloaded settings. */
export type Changes = ReturnType<typeof changesBetween>

/** Compares the current settings with the settings just read. */
export function changesBetween(before: Settings, read: Settings) {
  const differing = settings.filter(
    ({ name }) => !isDeepStrictEqual(valueOf(before, name), valueOf(read, name)),
  )
  const namesOf = (list: typeof differing) => list.map(({ name }) => name)
  const waiting = differing.filter(({ needsRestart }) => needsRestart)
  const changed = [
    ...namesOf(differing.filter(({ needsRestart }) => !needsRestart)),
    ...vendors.flatMap((vendor) => {
      const [old, now] = [providerOf(before, vendor.id), providerOf(read, vendor.id)]
      return [
        ...(isDeepStrictEqual(old.keys, now.keys) ? [] : [keysName(vendor, before, read)]),
        ...(isMoved(old.baseUrl, now.baseUrl) ? [vendor.baseUrlVariable] : []),
      ]
    }),
  ]
  const ids = new Set([before, read].flatMap(({ config }) => config.endpoints.map(({ id }) => id)))
  const providerIds = [...ids].filter(
    (id) => !isDeepStrictEqual(providerOf(before, id), providerOf(read, id)),
  )
  return {
    /** Names of applied settings in gateway.yaml, or of environment variables. */
    changed,
    /** Names of changed settings that take effect after a restart. */
    needsRestart: namesOf(waiting),
    /** The settings from now on. */
    applied: {
      config: withOld(before.config, read.config, namesOf(waiting)),
      secrets: withOldSecrets(before.secrets, read.secrets, namesOf(waiting)),
    },
    /** Providers that were added or removed, or whose configuration or keys changed. */
    providerIds,
    /** Whether the lists of models and tools may have changed. */
    concernsModels: providerIds.length > 0 || changed.some((name) => modelSettings.has(name)),
  }
}

/** The variable of a vendor's keys; for stored keys, the vendor. */
function keysName({ id, keyVariables }: Vendor, ...both: Settings[]): string {
  const isStored = both.every(({ config }) => config.keySources[id] !== 'environment')
  return isStored ? `keys of ${id}` : keyVariables[0]!
}

/** Whether the address of an existing provider changed. */
function isMoved(old: string | undefined, now: string | undefined): boolean {
  return old !== undefined && now !== undefined && old !== now
}

/** The value of a setting by its name in gateway.yaml. */
function valueOf({ config, secrets }: Settings, name: string): unknown {
  if (name === 'providers') {
    const own = config.endpoints.filter(({ id }) => !vendors.some((vendor) => vendor.id === id))
    return own.map((endpoint) => [endpoint, secrets.providerKeys[endpoint.id]])
  }
  const [limits, limit] = name.split('.')
  const place = limit !== undefined ? config.limits : isSecret(name) ? secrets : config
  // Every name in settings.yaml is a member of `Config` or of `Secrets`.
  return (place as Readonly<Record<string, unknown>>)[camelCase(limit ?? limits!)]
}

function providerOf({ config, secrets }: Settings, id: string) {
  const { baseUrl, ...more } = config.endpoints.find((one) => one.id === id) ?? {}
  return { baseUrl, more, keys: secrets.providerKeys[id] }
}

/** The settings just read, with the old values of settings that need a restart. */
function withOld(before: Config, read: Config, names: readonly string[]): Config {
  const kept = { ...read, limits: { ...read.limits } }
  for (const name of names) {
    const [limits, limit] = name.split('.')
    // `valueOf` looks up the same members, and both objects are a Config.
    if (limit === undefined) Object.assign(kept, memberOf(before, camelCase(limits!)))
    else Object.assign(kept.limits, memberOf(before.limits, camelCase(limit)))
  }
  return kept
}

function withOldSecrets(before: Secrets, read: Secrets, names: readonly string[]): Secrets {
  const kept = names.filter(isSecret).map((name) => memberOf(before, camelCase(name)))
  return Object.assign({ ...read }, ...kept)
}

function memberOf(from: object, name: string): object {
  return { [name]: (from as Record<string, unknown>)[name] }
}
