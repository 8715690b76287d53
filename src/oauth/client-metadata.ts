import type { components } from '../../generated/types.ts'
import { plainLine } from '../core/words/shorten.ts'
import { redirectKind } from './redirect-address.ts'
import { OAuthRefusal } from './refusal.ts'

type ClientMetadata = components['schemas']['ClientRegistration']

const redirectsMax = 20
const nameLengthMax = 100
const addressLengthMax = 2000
const contactsMax = 5
/** What a client may do that nobody has made for an account: sign people in. */
const offeredGrants = ['authorization_code', 'refresh_token']
const aboutClient = ['client_uri', 'logo_uri', 'policy_uri', 'tos_uri'] as const

/**
 * What a client says of itself, as it is taken: real clients leave `application_type` out or have
 * it wrong, and ask for grants and scopes that are not offered (docs/oauth.md#what-clients-say).
 * Throws an OAuthRefusal.
 */
export function clientMetadata(given: unknown): ClientMetadata {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw unfit('The client is described by a JSON object.')
  }
  const said = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
  const { redirect_uris: redirects, token_endpoint_auth_method: method } = said
  if (!Array.isArray(redirects) || redirects.length === 0) {
    throw new OAuthRefusal('invalid_redirect_uri', "'redirect_uris' must list an address.")
  }
  if (redirects.length > redirectsMax) {
    throw new OAuthRefusal(
      'invalid_redirect_uri',
      `'redirect_uris' may list ${redirectsMax} addresses.`,
    )
  }
  const kinds = redirects.map(redirectKind)
  const isNative = kinds.includes('native') || said['application_type'] === 'native'
  return {
    redirect_uris: redirects,
    application_type: isNative ? 'native' : 'web',
    grant_types: grantsOf(said['grant_types']),
    response_types: ['code'],
    ...(method === undefined
      ? {}
      : { token_endpoint_auth_method: textOf(method, 'token_endpoint_auth_method') }),
    ...nameOf(said['client_name']),
    ...addressesOf(said),
    ...contactsOf(said['contacts']),
    ...(method === 'private_key_jwt' ? keysOf(said) : {}),
  }
}

function grantsOf(given: unknown): string[] {
  if (given === undefined) return offeredGrants
  if (!Array.isArray(given)) throw unfit("'grant_types' must be a list.")
  const offered = offeredGrants.filter((grant) => given.includes(grant))
  if (offered.includes('authorization_code')) return offered
  throw unfit(
    given.includes('client_credentials')
      ? "A client of the grant 'client_credentials' is made by an administrator of an account, and does not register itself."
      : "None of the 'grant_types' is offered. Ask for authorization_code, with refresh_token.",
  )
}

/** A name to show to people. */
function nameOf(given: unknown): { client_name?: string } {
  if (given === undefined) return {}
  const name = plainLine(textOf(given, 'client_name'), nameLengthMax)
  return name === '' ? {} : { client_name: name }
}

/** Pages about the client; those that are not https are left out. */
function addressesOf(said: Record<string, unknown>): Partial<ClientMetadata> {
  const addresses = aboutClient.flatMap((member) => {
    const given = said[member]
    const isTaken =
      typeof given === 'string' &&
      given.length <= addressLengthMax &&
      /^[!-~]+$/.test(given) &&
      URL.parse(given)?.protocol === 'https:'
    return isTaken ? [[member, given] as const] : []
  })
  return Object.fromEntries(addresses)
}

function contactsOf(given: unknown): { contacts?: string[] } {
  if (!Array.isArray(given)) return {}
  const contacts = given.filter(
    (one): one is string =>
      typeof one === 'string' && /^[\w.+-]{1,64}@[\w-]+(\.[\w-]+)*$/.test(one),
  )
  return contacts.length === 0 ? {} : { contacts: contacts.slice(0, contactsMax) }
}

/** The public keys of a client that signs; they are checked where they are used. */
function keysOf({ jwks, jwks_uri: address }: Record<string, unknown>): Partial<ClientMetadata> {
  if (typeof jwks === 'object' && jwks !== null) return { jwks: jwks as Record<string, never> }
  return address === undefined ? {} : { jwks_uri: textOf(address, 'jwks_uri') }
}

function textOf(given: unknown, member: string): string {
  if (typeof given === 'string') return given
  throw unfit(`'${member}' must be a text.`)
}

function unfit(message: string): OAuthRefusal {
  return new OAuthRefusal('invalid_client_metadata', message)
}
