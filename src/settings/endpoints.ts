import type { components } from '../../generated/settings.ts'
import type { EndpointConfig } from '../providers/create-providers.ts'
import { vendors } from '../providers/index.ts'
import { checkKeys } from '../providers/key-shape.ts'

type Settings = components['schemas']['Settings']

/** Environment variables by name. */
export type Variables = Readonly<Record<string, string | undefined>>

type FoundEndpoint = { endpoint: EndpointConfig; keys: readonly string[] }

/** The vendors whose keys are set, with what is wrong or probably wrong about them. */
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
      complaints.push(`${vendor.baseUrlVariable} is not an address such as ${vendor.baseUrl}.`)
    }
    const isOwnAddress = withoutSlash(base) === vendor.baseUrl
    const { wrong, doubtful } = checkKeys({ vendor, variable, keys, isOwnAddress }, vendors)
    complaints.push(...wrong)
    doubts.push(...doubtful)
    const models = vendor.anyModel ? '*' : 'catalog'
    return { endpoint: { id: vendor.id, baseUrl: withoutSlash(base), models }, keys }
  })
}

/** A provider of gateway.yaml with its key, and what is wrong about it. */
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
    complaints.push(`${variable} is not set, but the provider '${id}' takes its key from it.`)
  }
  if (!isAddress(baseUrl)) {
    complaints.push(`The base_url of the provider '${id}' is not an address.`)
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
