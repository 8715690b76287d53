import { readFileSync } from 'node:fs'
import type { components } from '../../generated/settings.ts'
import { isPrivateHost } from '../core/public-address.ts'
import { systemReason } from '../core/words/system-reason.ts'
import type { EndpointConfig, ProviderKeys } from '../providers/create-providers.ts'
import { vendors } from '../providers/index.ts'
import { checkKeys } from '../providers/key-shape.ts'
import { addressPart, type Vendor } from '../providers/vendor.ts'
import type { Variables } from './sources.ts'

type Settings = components['schemas']['Settings']

/** Where the keys of a provider come from: a variable, or the store. */
export type KeySource = 'environment' | 'store'
type FoundEndpoint = {
  endpoint: EndpointConfig
  keys: readonly string[]
  source: KeySource | undefined
}
/** Variables have precedence over stored keys. */
type Sources = {
  variables: Variables
  storedKeys: ProviderKeys
  /** Networks, besides the public ones, where endpoints of the stored settings may be. */
  privateNetworks: readonly string[]
}

/** Where the keys of each provider come from, by its id. */
export function keySourcesOf(found: readonly FoundEndpoint[]): Record<string, KeySource> {
  const known = found.flatMap(({ endpoint, source }) =>
    source === undefined ? [] : [[endpoint.id, source] as const],
  )
  return Object.fromEntries(known)
}

/** Endpoints of the vendors that have keys. Appends errors to `complaints` and warnings to `doubts`. */
export function vendorEndpoints(
  { variables, storedKeys }: Sources,
  complaints: string[],
  doubts: string[],
): FoundEndpoint[] {
  return vendors.flatMap((vendor) => {
    const variable = vendor.keyVariables.find((name) => keysIn(variables[name]).length > 0)
    const keys =
      variable === undefined
        ? storedKeys[vendor.id]
        : keysOf(vendor, variables[variable], `${variable}: `, complaints)
    if (keys === undefined) return []
    const own = ownAddress(vendor, variables)
    const base = variables[vendor.baseUrlVariable] || own.address
    if (base === own.address && own.missing.length > 0) {
      // No error: such a key may be in the environment for another program.
      doubts.push(
        `${vendor.name} has a key, but is not used: set ${own.missing.join(' and ')} to the part of its address (letters, digits, . and -), or set ${vendor.baseUrlVariable}.`,
      )
      return []
    }
    if (!isAddress(base)) {
      complaints.push(
        `${vendor.baseUrlVariable} must be an http(s) address without credentials. For example: ${vendor.baseUrl}`,
      )
    }
    if (variable !== undefined) {
      const isOwnAddress = withoutSlash(base) === own.address
      const { wrong, doubtful } = checkKeys({ vendor, variable, keys, isOwnAddress }, vendors)
      complaints.push(...wrong)
      doubts.push(...doubtful)
    }
    const models = vendor.anyModel ? '*' : 'catalog'
    const source = variable === undefined ? 'store' : 'environment'
    const { id, modelsOf } = vendor
    return { endpoint: { id, baseUrl: withoutSlash(base), models, modelsOf }, keys, source }
  })
}

/** The keys in a variable, which for a service account has its JSON or the path of the file. */
function keysOf(
  { tokenScope }: Vendor,
  text: string | undefined,
  where: string,
  complaints: string[],
): string[] {
  if (tokenScope === undefined || text === undefined) return keysIn(text)
  if (text.trimStart().startsWith('{')) return [text]
  try {
    return [readFileSync(text.trim(), 'utf8')]
  } catch (error) {
    complaints.push(
      `${where}the file of the service account cannot be read: ${systemReason(error)}.`,
    )
    return []
  }
}

/** The vendor's own address with the values of its variables, and the variables without a usable value. */
function ownAddress({ baseUrl }: Vendor, variables: Variables) {
  const missing: string[] = []
  const address = baseUrl.replaceAll(addressPart, (part, name: string) => {
    const value = variables[name] ?? ''
    if (/^[\w.-]+$/.test(value)) return value
    missing.push(name)
    return part
  })
  return { address, missing }
}

/** Endpoint of a provider in gateway.yaml, with its keys. Appends errors to `complaints`. */
export function ownEndpoint(
  {
    id,
    base_url: baseUrl,
    api_key_env: variable,
    fetches_images: fetchesImages,
    models,
  }: NonNullable<Settings['providers']>[number],
  { variables, storedKeys }: Sources,
  complaints: string[],
): FoundEndpoint {
  const stored = storedKeys[id]
  const keys = variable === undefined ? (stored ?? []) : keysIn(variables[variable])
  if (variable !== undefined && keys.length === 0) {
    complaints.push(
      `${variable} is not set. The provider '${id}' reads its key from it (api_key_env).`,
    )
  }
  if (!isAddress(baseUrl)) {
    complaints.push(
      `The base_url of the provider '${id}' must be an http(s) address without credentials.`,
    )
  }
  const listed = models.includes('*') ? '*' : models
  const endpoint = { id, baseUrl: withoutSlash(baseUrl), models: listed, fetchesImages }
  const source = variable === undefined ? stored && 'store' : 'environment'
  return { endpoint, keys, source }
}

/**
 * Endpoint of a provider in the stored settings: its connections are guarded, and it reads no variable.
 * Appends errors to `complaints`.
 */
export function storedEndpoint(
  provider: NonNullable<Settings['providers']>[number],
  sources: Sources,
  complaints: string[],
): FoundEndpoint {
  const { id, base_url: baseUrl, api_key_env: variable } = provider
  // A variable may hold any secret of the process, which the endpoint would receive.
  if (variable !== undefined)
    complaints.push(
      `The provider '${id}' of the stored settings must not have api_key_env. Add its key in the dashboard, or to the file gateway.yaml.`,
    )
  const url = URL.parse(baseUrl)
  if (url !== null && sources.privateNetworks.length === 0 && isPrivateHost(url))
    complaints.push(
      `The base_url of the provider '${id}' is not public. Allow its network in the file gateway.yaml. For example: private_endpoint_networks: [127.0.0.0/8]`,
    )
  const { api_key_env: _, ...rest } = provider
  const { endpoint, ...found } = ownEndpoint(rest, sources, complaints)
  return { ...found, endpoint: { ...endpoint, isGuarded: true } }
}

/** Refuses endpoints at an address of the gateway, since calls to them would return to it. */
export function complaintsAboutLoops(
  found: readonly FoundEndpoint[],
  addresses: readonly string[],
): string[] {
  const origins = new Set(addresses.map(originOf))
  return found
    .filter(({ endpoint }) => origins.has(originOf(endpoint.baseUrl)))
    .map(({ endpoint: { id } }) => {
      const variable = vendors.find((vendor) => vendor.id === id)?.baseUrlVariable
      return variable === undefined
        ? `The base_url of the provider '${id}' is the address of this gateway. Set it to the address of the provider.`
        : `${variable} is the address of this gateway. Unset it here; set it only for the clients.`
    })
}

function originOf(address: string): string {
  return URL.parse(address)?.origin.replace('//localhost', '//127.0.0.1') ?? address
}

/** Addresses are printed, so they must not contain credentials. */
function isAddress(text: string): boolean {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return false
  return url.username === '' && url.password === ''
}

function withoutSlash(address: string): string {
  return address.replace(/\/+$/, '')
}

function keysIn(text = ''): string[] {
  return text
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '')
}
