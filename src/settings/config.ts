import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { settingsCheck } from '../../generated/settings-check.js'
import { settings, type components } from '../../generated/settings.ts'
import { bounds, bufferedBytesDefault, type Bounds } from './bounds.ts'
import { configuredRows, readCatalogRows } from '../catalog/catalog.ts'
import type { OwnEntries } from '../catalog/own-rows.ts'
import { systemReason } from '../core/words/system-reason.ts'
import type { EndpointConfig, ProviderKeys } from '../providers/create-providers.ts'
import { complaintsAboutIds, namePrefixes as prefixes } from '../providers/index.ts'
import {
  complaintsAboutLoops,
  keySourcesOf,
  ownEndpoint,
  storedEndpoint,
  vendorEndpoints,
  type KeySource,
} from './endpoints.ts'
import { collectorHeaders, telemetryConfig } from './telemetry.ts'
import { complaintsAbout, complaintTexts } from './complaint.ts'
import { doubtsAboutModels, modelSettings } from './model-names.ts'
import {
  doubtsAboutEnv,
  doubtsAboutNames,
  readEnv,
  readSources,
  type NameOf,
  type Variables,
} from './sources.ts'
import { readStoredSettings } from './stored.ts'

type Settings = components['schemas']['Settings']
type SettingsLimits = Required<NonNullable<Settings['limits']>>

type CamelCase<Text extends string> = Text extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Text
type CamelCased<Members> = {
  readonly [Name in keyof Required<Members> as CamelCase<Name & string>]: Frozen<Members[Name]>
}
type Frozen<Value> = { readonly [Name in keyof Value]: Frozen<Value[Name]> }

/** The settings that must not be printed. */
const secretNames = [
  'database_url',
  'encryption_key',
  'metrics_token',
  'oidc_client_secret',
  'otlp_headers',
  'picture_bucket_access_key_id',
  'picture_bucket_secret_access_key',
  'redis_url',
  'smtp_url',
] as const
type SecretName = (typeof secretNames)[number]

export function isSecret(name: string): name is SecretName {
  return secretNames.some((secret) => secret === name)
}

type Limits = CamelCased<SettingsLimits>
type Changed = 'workers' | 'resource_attributes' | 'catalog'

/** The settings without secrets; may be printed. */
export type Config = CamelCased<Omit<Settings, SecretName | Changed | 'limits' | 'providers'>> & {
  /** Number of serving processes; `auto` for one per core. */
  readonly workers: number | 'auto'
  readonly resourceAttributes: Readonly<Record<string, string>>
  /** The operator's prices and models from gateway.yaml, by model name. */
  readonly catalog: OwnEntries
  readonly endpoints: readonly EndpointConfig[]
  /** Where the keys of each provider come from; absent for a provider without keys. */
  readonly keySources: Readonly<Record<string, KeySource>>
  readonly limits: Limits & Bounds
}

/** Settings that must not appear in logs, answers or the store. */
export type Secrets = CamelCased<Omit<Pick<Settings, SecretName>, 'otlp_headers'>> & {
  /** Headers for the OpenTelemetry collector. */
  readonly otlpHeaders: Readonly<Record<string, string>> | undefined
  readonly providerKeys: ProviderKeys
}

/** All errors of the settings: one line each, with setting and remedy. */
export class ConfigError extends Error {
  override name = 'ConfigError'

  /** The errors one after the other, for messages of one line. */
  get inOneLine(): string {
    return this.message.replaceAll('\n', ' ')
  }
}

export type { Variables }

/** The variables of `.env` in the working directory, overridden by the process's environment. */
export function readVariables(): Variables {
  try {
    return { ...readEnv(), ...process.env }
  } catch (error) {
    throw new ConfigError(`The file .env cannot be read: ${systemReason(error)}.`)
  }
}

/** Sets the fonts of the picture renderer; call it before the first picture. */
export function setFontConfiguration(file: string): void {
  process.env['FONTCONFIG_FILE'] = file
}

/** The validated settings. */
export type Loaded = {
  config: Config
  secrets: Secrets
  /** Warnings about probable errors, one sentence each; without secrets. */
  doubts: readonly string[]
}

/** What operators stored while the gateway ran: keys of providers, and settings as YAML. */
export type Stored = { keys?: ProviderKeys; settings?: string }
/** Reads all settings, with what is stored. Throws a ConfigError. */
export type ReadSettings = (stored?: Stored) => Loaded

/**
 * Reads and validates all settings, separating secrets. Variables and gateway.yaml take precedence over what
 * is stored. Throws a ConfigError.
 */
export function loadConfig(
  variables: Variables,
  { keys: storedKeys = {}, settings: storedText = '' }: Stored = {},
): Loaded {
  const complaints: string[] = []
  const doubts = [...doubtsAboutEnv(), ...doubtsAboutNames(variables)]
  const stored = readStoredSettings(storedText, complaints)
  const { merged, nameOf, fileProviders } = readSources(variables, stored, complaints)
  // Before the check, which adds the defaults.
  const namesModels = Object.keys(merged).some((name) => modelSettings.has(name))
  const errors = settingsCheck(merged) ? [] : (settingsCheck.errors ?? [])
  complaints.push(...complaintTexts(errors, nameOf), ...complaintsAbout(merged, nameOf))
  // Until the throw below, only `providers` and `catalog` are used, each only if it is valid.
  const checked = merged as Settings
  const own = errors.some(({ instancePath }) => instancePath.startsWith('/providers'))
    ? []
    : checked.providers
  const sources = { variables, storedKeys, privateNetworks: checked.private_endpoint_networks }
  const found = [
    ...vendorEndpoints(sources, complaints, doubts),
    ...own.map((one) => {
      const endpointOf = fileProviders.has(one) ? ownEndpoint : storedEndpoint
      return endpointOf(one, sources, complaints)
    }),
  ]
  complaints.push(...complaintsAboutIds(own), ...complaintsAboutLoops(found, addressesOf(checked)))
  const hasCatalog = !errors.some(({ instancePath }) => instancePath.startsWith('/catalog'))
  if (hasCatalog) complaints.push(...complaintsAboutCatalog(checked.catalog, own, nameOf))
  if (complaints.length > 0) throw new ConfigError(complaints.join('\n'))
  doubts.push(...doubtsAboutServing(checked))
  const { workers, data_dir: dataDir, upload_dir: uploadDir } = checked
  const config = {
    ...plainSettings(checked),
    workers: workers === 'auto' ? ('auto' as const) : Number(workers),
    dataDir: resolve(dataDir),
    uploadDir: uploadDir === undefined ? undefined : resolve(uploadDir),
    catalog: checked.catalog,
    ...telemetryConfig(checked),
    endpoints: found.map(({ endpoint }) => endpoint),
    keySources: keySourcesOf(found),
    limits: { ...bounds, ...limitsOf(checked) },
  }
  const secrets = {
    metricsToken: checked.metrics_token,
    oidcClientSecret: checked.oidc_client_secret,
    otlpHeaders: collectorHeaders(checked),
    databaseUrl: checked.database_url,
    redisUrl: checked.redis_url,
    smtpUrl: checked.smtp_url,
    encryptionKey: checked.encryption_key,
    pictureBucketAccessKeyId: checked.picture_bucket_access_key_id,
    pictureBucketSecretAccessKey: checked.picture_bucket_secret_access_key,
    providerKeys: Object.fromEntries(found.map(({ endpoint, keys }) => [endpoint.id, keys])),
  }
  // The catalog's files take 20 ms to read.
  if (namesModels) doubts.push(...doubtsAboutModels(config, nameOf))
  return freeze({ config, secrets, doubts })
}

/** Reads the catalog's files only if gateway.yaml has entries to compare with them. */
function complaintsAboutCatalog(
  catalog: OwnEntries,
  endpoints: readonly { id: string; models: '*' | readonly string[] }[],
  nameOf: NameOf,
): string[] {
  if (Object.keys(catalog).length === 0) return []
  const rows = readCatalogRows()
  const { errors, complaints } = configuredRows({ rows, catalog, prefixes, endpoints })
  const others = complaints.map(({ path, text }) => `${nameOf(...path)}: ${text}`)
  return [...complaintTexts(errors, nameOf), ...others]
}

/** Where the gateway listens, and its public address. */
function addressesOf(checked: Settings): string[] {
  return [undefined, checked.base_url].map((baseUrl) => siteAddress({ ...checked, baseUrl }))
}

function doubtsAboutServing({ base_url, host, limits, ...checked }: Settings): string[] {
  const isOpen = base_url === undefined && Object.hasOwn(loopback, host)
  const isShared = checked.database_url !== undefined
  // Replicas have no file in common, so the gateway makes no key for them.
  const isKeyless = isShared && checked.encryption_key === undefined
  const keepsNone = isKeyless && limits.stored_responses_days > 0
  return [...(isOpen ? [openHost] : []), ...(keepsNone ? [noResponses] : [])]
}

const noResponses =
  'With DATABASE_URL, responses of /v1/responses are stored only if ENCRYPTION_KEY is set. Set it on all replicas to the output of `openssl rand -base64 32`, or set stored_responses_days to 0.'
const openHost =
  'HOST makes the gateway reachable from other machines. Set BASE_URL to the address that they use.'
/** The number of serving processes. */
export function workerCount({ workers }: Pick<Config, 'workers'>): number {
  return workers === 'auto' ? availableParallelism() : workers
}

/** The address for browsers: `base_url`, or where the gateway listens; loopback if it listens on all addresses. */
export function siteAddress({
  baseUrl,
  host,
  port,
}: Pick<Config, 'baseUrl' | 'host' | 'port'>): string {
  return baseUrl ?? `http://${loopback[host] ?? (host.includes(':') ? `[${host}]` : host)}:${port}`
}

const loopback: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' }

/** The address of the tool server, which is the audience of access tokens. */
export function toolServerAddress(config: Config): string {
  return `${siteAddress(config)}/mcp`
}

/** The settings as they are checked, by their names in `Config`. */
function plainSettings(checked: Settings): CamelCased<Omit<Settings, SecretName>> {
  const names = settings.map(({ name }) => name).filter((name) => !name.includes('.'))
  // The type `CamelCase` renames the keys in the same way, and `isSecret` omits the secrets.
  return Object.fromEntries(
    names
      .filter((name) => name !== 'providers' && !isSecret(name))
      .map((name) => [camelCase(name), (checked as Record<string, unknown>)[name]]),
  ) as CamelCased<Omit<Settings, SecretName>>
}

function limitsOf({ limits }: Settings): Limits {
  const all = { buffered_bytes_max: bufferedBytesDefault(), ...limits }
  // The type `CamelCase` renames the keys in the same way.
  return Object.fromEntries(Object.entries(all).map(([k, v]) => [camelCase(k), v])) as Limits
}

/** The name of a setting as a member of `Config`. */
export function camelCase(snake: string): string {
  return snake.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function freeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null) freeze(inner)
  }
  return Object.freeze(value)
}
