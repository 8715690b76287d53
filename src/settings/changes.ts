import { isDeepStrictEqual } from 'node:util'
import { settings } from '../../generated/settings.ts'
import { camelCase, type Config, type Loaded, type Secrets } from './config.ts'
import { vendors } from '../providers/index.ts'

type Settings = Pick<Loaded, 'config' | 'secrets'>

/** What settings that were read again change. */
export type Changes = {
  /** The settings that are applied, by their names in gateway.yaml, else their variables. */
  changed: readonly string[]
  /** Those that keep their values until a restart. */
  needsRestart: readonly string[]
  /** The settings to go on with. */
  applied: Settings
  /** The providers that are another one now, that have gone, or whose keys are others. */
  providerIds: readonly string[]
  /** Whether what callers are told of models and tools may be another. */
  concernsModels: boolean
}

/** Compares settings in force with those that were read. */
export function changesBetween(before: Settings, read: Settings): Changes {
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
        ...(isDeepStrictEqual(old.keys, now.keys) ? [] : [vendor.keyVariables[0]!]),
        ...(isMoved(old.baseUrl, now.baseUrl) ? [vendor.baseUrlVariable] : []),
      ]
    }),
  ]
  const ids = new Set([before, read].flatMap(({ config }) => config.endpoints.map(({ id }) => id)))
  const providerIds = [...ids].filter(
    (id) => !isDeepStrictEqual(providerOf(before, id), providerOf(read, id)),
  )
  return {
    changed,
    needsRestart: namesOf(waiting),
    applied: {
      config: withOld(before.config, read.config, namesOf(waiting)),
      secrets: withOldSecrets(before.secrets, read.secrets, namesOf(waiting)),
    },
    providerIds,
    concernsModels: providerIds.length > 0 || changed.some((name) => ofModels.has(name)),
  }
}

const ofModels: ReadonlySet<string> = new Set([
  'aliases',
  'catalog',
  'default_image_model',
  'default_tool_image_model',
  'routes',
])

/** Whether a provider that was there and still is has another address. */
function isMoved(old: string | undefined, now: string | undefined): boolean {
  return old !== undefined && now !== undefined && old !== now
}

/** Settings that are secrets, by their names in gateway.yaml. */
const secretSettings = {
  database_url: 'databaseUrl',
  metrics_token: 'metricsToken',
  otlp_headers: 'otlpHeaders',
  redis_url: 'redisUrl',
} as const satisfies Readonly<Record<string, keyof Secrets>>

function isSecretSetting(name: string): name is keyof typeof secretSettings {
  return Object.hasOwn(secretSettings, name)
}

/** The value of a setting by its name in gateway.yaml. */
function valueOf({ config, secrets }: Settings, name: string): unknown {
  if (isSecretSetting(name)) return secrets[secretSettings[name]]
  if (name === 'providers') {
    const own = config.endpoints.filter(({ id }) => !vendors.some((vendor) => vendor.id === id))
    return own.map((endpoint) => [endpoint, secrets.providerKeys[endpoint.id]])
  }
  const [limits, limit] = name.split('.')
  const place: object = limit === undefined ? config : config.limits
  // Each name of settings.yaml is one of `Config`; what this version cannot have is in neither.
  return (place as Record<string, unknown>)[camelCase(limit ?? limits!)]
}

function providerOf({ config, secrets }: Settings, id: string) {
  const { baseUrl, ...more } = config.endpoints.find((one) => one.id === id) ?? {}
  return { baseUrl, more, keys: secrets.providerKeys[id] }
}

/** The settings that were read, with the old values of those that take a restart. */
function withOld(before: Config, read: Config, names: readonly string[]): Config {
  const kept = { ...read, limits: { ...read.limits } }
  for (const name of names) {
    const [limits, limit] = name.split('.')
    // `valueOf` says which members there are, and both are of the same type.
    if (limit === undefined) Object.assign(kept, memberOf(before, camelCase(limits!)))
    else Object.assign(kept.limits, memberOf(before.limits, camelCase(limit)))
  }
  return kept
}

function withOldSecrets(before: Secrets, read: Secrets, names: readonly string[]): Secrets {
  const kept = names.filter(isSecretSetting).map((name) => {
    const member = secretSettings[name]
    return [member, before[member]]
  })
  return { ...read, ...Object.fromEntries(kept) }
}

function memberOf(from: object, name: string): object {
  return { [name]: (from as Record<string, unknown>)[name] }
}
