import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { settingsCheck } from '../../generated/settings-check.js'
import type { components } from '../../generated/settings.ts'
import { bounds, type Bounds } from './bounds.ts'
import { bufferedBytesDefault } from '../bytes/machine-memory.ts'
import { configuredRows, readCatalogRows } from '../catalog/catalog.ts'
import type { OwnEntries } from '../catalog/own-rows.ts'
import { systemReason } from '../core/words/system-reason.ts'
import type { EndpointConfig, ProviderKeys } from '../providers/create-providers.ts'
import { namePrefixes as prefixes } from '../providers/index.ts'
import { complaintsAboutIds } from '../providers/reserved-ids.ts'
import {
  complaintsAboutLoops,
  keySourcesOf,
  ownEndpoint,
  storedEndpoint,
  vendorEndpoints,
  type KeySource,
} from './endpoints.ts'
import { collectorHeaders, telemetryConfig, type TelemetryConfig } from './telemetry.ts'
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
/** Every limit of settings.yaml, with its unit in the name. */
type Limits = { readonly [Name in keyof SettingsLimits as CamelCase<Name>]: SettingsLimits[Name] }

/** The settings without secrets; may be printed. */
export type Config = TelemetryConfig & {
  readonly host: string
  readonly port: number
  /** The public address; undefined to use the address that the server listens on. */
  readonly baseUrl: string | undefined
  /** Number of serving processes; `auto` for one per core. */
  readonly workers: number | 'auto'
  readonly redisKeyPrefix: string
  readonly dataDir: string
  readonly uploadDir: string | undefined
  readonly logLevel: NonNullable<Settings['log_level']>
  readonly logFormat: NonNullable<Settings['log_format']>
  readonly signUp: NonNullable<Settings['sign_up']>
  readonly clientRegistration: NonNullable<Settings['client_registration']>
  /** Whether OAuth clients may identify themselves with a client ID metadata document. */
  readonly clientDocuments: NonNullable<Settings['client_documents']>
  readonly durability: NonNullable<Settings['durability']>
  readonly defaultImageModel: string
  readonly defaultToolImageModel: string
  readonly allowedOrigins: readonly string[]
  /** Networks as CIDR whose `X-Forwarded-For` header is trusted. */
  readonly trustedProxies: readonly string[]
  readonly aliases: Readonly<Record<string, string>>
  readonly routes: Readonly<Record<string, readonly string[]>>
  /** The operator's prices and models from gateway.yaml, by model name. */
  readonly catalog: OwnEntries
  readonly routeOrder: NonNullable<Settings['route_order']>
  /** Networks as CIDR, besides the public ones, where endpoints of the stored settings may be. */
  readonly privateEndpointNetworks: readonly string[]
  readonly endpoints: readonly EndpointConfig[]
  /** Where the keys of each provider come from; absent for a provider without keys. */
  readonly keySources: Readonly<Record<string, KeySource>>
  readonly limits: Limits & Bounds
}

/** Settings that must not appear in logs, answers or the store. */
export type Secrets = {
  readonly metricsToken: string | undefined
  /** Headers for the OpenTelemetry collector. */
  readonly otlpHeaders: Readonly<Record<string, string>> | undefined
  /** Address of PostgreSQL, with its password; undefined for the embedded store. */
  readonly databaseUrl: string | undefined
  /** Address of Redis, with its password; undefined without Redis. */
  readonly redisUrl: string | undefined
  readonly providerKeys: ProviderKeys
  /** Keys in base64, separated by commas, for the stored keys of providers. */
  readonly encryptionKey: string | undefined
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
  const config = {
    host: checked.host,
    port: checked.port,
    baseUrl: checked.base_url,
    workers: checked.workers === 'auto' ? ('auto' as const) : Number(checked.workers),
    redisKeyPrefix: checked.redis_key_prefix,
    dataDir: resolve(checked.data_dir),
    uploadDir: checked.upload_dir === undefined ? undefined : resolve(checked.upload_dir),
    logLevel: checked.log_level,
    logFormat: checked.log_format,
    signUp: checked.sign_up,
    clientRegistration: checked.client_registration,
    clientDocuments: checked.client_documents,
    durability: checked.durability,
    defaultImageModel: checked.default_image_model,
    defaultToolImageModel: checked.default_tool_image_model,
    allowedOrigins: checked.allowed_origins,
    trustedProxies: checked.trusted_proxies,
    aliases: checked.aliases,
    routes: checked.routes,
    catalog: checked.catalog,
    routeOrder: checked.route_order,
    privateEndpointNetworks: checked.private_endpoint_networks,
    ...telemetryConfig(checked),
    endpoints: found.map(({ endpoint }) => endpoint),
    keySources: keySourcesOf(found),
    limits: { ...bounds, ...limitsOf(checked) },
  }
  const secrets = {
    metricsToken: checked.metrics_token,
    otlpHeaders: collectorHeaders(checked),
    databaseUrl: checked.database_url,
    redisUrl: checked.redis_url,
    encryptionKey: checked.encryption_key,
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
