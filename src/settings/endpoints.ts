import type { components } from '../../generated/settings.ts'
import type { EndpointConfig } from '../providers/create-providers.ts'
import { vendors } from '../providers/index.ts'
import { checkKeys } from '../providers/key-shape.ts'
import type { Variables } from './sources.ts'

type Settings = components['schemas']['Settings']

type FoundEndpoint = { endpoint: EndpointConfig; keys: readonly string[] }

/** Endpoints of the vendors whose keys are set. Appends errors to `complaints` and warnings to `doubts`. */
export function vendorEndpoints(
  variables: Variables,
  complaints: string[],
  doubts: string[],
): FoundEndpoint[] {
  return vendors.flatMap((vendor) => {
    const variable = vendor.keyVariables.find((name) => keysIn(variables[name]).length > 0)
    if (variable === undefined) return []
    const keys = keysIn(variables[variable])
    const base = variables[vendor.baseUrlVariable] || vendor.baseUrl
    if (!isAddress(base)) {
      complaints.push(
        `${vendor.baseUrlVariable} must be an http(s) address without credentials. For example: ${vendor.baseUrl}`,
      )
    }
    const isOwnAddress = withoutSlash(base) === vendor.baseUrl
    const { wrong, doubtful } = checkKeys({ vendor, variable, keys, isOwnAddress }, vendors)
    complaints.push(...wrong)
    doubts.push(...doubtful)
    const models = vendor.anyModel ? '*' : 'catalog'
    return { endpoint: { id: vendor.id, baseUrl: withoutSlash(base), models }, keys }
  })
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
  variables: Variables,
  complaints: string[],
): FoundEndpoint {
  const keys = variable === undefined ? [] : keysIn(variables[variable])
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
  return { endpoint: { id, baseUrl: withoutSlash(baseUrl), models, fetchesImages }, keys }
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
