import { GatewayError } from '../core/error.ts'
import { nearName } from '../core/words/near-name.ts'
import type { EndpointConfig } from '../providers/create-providers.ts'
import { vendorOf, vendors } from '../providers/index.ts'
import { checkKeys } from '../providers/key-shape.ts'
import { ConfigError, type Loaded, type ReadSettings, type Stored } from './config.ts'

/**
 * The endpoint that the settings give a provider if this key is stored. Throws `not_found` for an unknown
 * provider, and `invalid_value` if the settings are invalid or lack a part of the provider's address.
 */
export function endpointWithKey(
  readSettings: ReadSettings,
  providerId: string,
  key: string,
): EndpointConfig {
  const { config, doubts } = settingsWith(readSettings, { keys: { [providerId]: [key] } })
  const { endpoints } = config
  const endpoint = endpoints.find(({ id }) => id === providerId)
  if (endpoint !== undefined) return endpoint
  const missing = vendorOf(providerId)?.baseUrlVariable
  if (missing !== undefined) {
    // A vendor without the parts of its address is not used.
    const reason = doubts.find((doubt) => doubt.includes(missing)) ?? `Set ${missing}.`
    throw new GatewayError('invalid_value', reason, { param: 'key' })
  }
  const ids = [...vendors, ...endpoints].map(({ id }) => id)
  const near = nearName(providerId, ids)
  const remedy = near === undefined ? `Choose from ${ids.join(', ')}.` : `Did you mean '${near}'?`
  const text = `There is no provider '${providerId.slice(0, 100)}'. ${remedy}`
  throw new GatewayError('not_found', text, { param: 'provider_id' })
}

/** Like `endpointWithKey`; also throws `invalid_value` for a text that cannot be a key of the provider. */
export function checkProviderKey(
  readSettings: ReadSettings,
  providerId: string,
  key: string,
): EndpointConfig {
  const endpoint = endpointWithKey(readSettings, providerId, key)
  const vendor = vendorOf(providerId)
  if (vendor === undefined) return endpoint
  const isOwnAddress = endpoint.baseUrl === vendor.baseUrl
  const { wrong } = checkKeys({ vendor, variable: 'key', keys: [key], isOwnAddress }, vendors)
  const [first] = wrong
  if (first !== undefined) throw new GatewayError('invalid_value', first, { param: 'key' })
  return endpoint
}

/** Reads the settings. Throws `invalid_value` with every fault. */
export function settingsWith(readSettings: ReadSettings, stored: Stored): Loaded {
  try {
    return readSettings(stored)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new GatewayError('invalid_value', `The settings are invalid. ${error.inOneLine}`)
  }
}
