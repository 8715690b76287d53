import { isMembers } from '../core/any-json.ts'
import type { components } from '../../generated/types.ts'
import { plainLine } from '../core/error.ts'
import { OAuthRefusal } from './error-answer.ts'

type ClientMetadata = components['schemas']['ClientRegistration']

const redirectsMax = 20
const nameLengthMax = 100
const addressLengthMax = 2000
const contactsMax = 5
/** The grants of a client that registers itself. */
const offeredGrants = ['authorization_code', 'refresh_token']
const aboutClient = ['client_uri', 'logo_uri', 'policy_uri', 'tos_uri'] as const

/**
 * Corrects the metadata of a client: real clients omit `application_type` or send a wrong one, and
 * request grants and scopes that are not supported (docs/oauth.md#what-clients-say).
 * Throws an OAuthRefusal.
 */
export function clientMetadata(value: unknown): ClientMetadata {
  if (!isMembers(value)) {
    throw invalid('The body must be a JSON object with the metadata of the client.')
  }
  const metadata = Object.fromEntries(Object.entries(value).filter(([, value]) => value !== null))
  const { redirect_uris: redirects, token_endpoint_auth_method: method } = metadata
  if (!Array.isArray(redirects) || redirects.length === 0) {
    throw new OAuthRefusal(
      'invalid_redirect_uri',
      "'redirect_uris' must be a list with at least one address.",
    )
  }
  if (redirects.length > redirectsMax) {
    throw new OAuthRefusal(
      'invalid_redirect_uri',
      `'redirect_uris' may have at most ${redirectsMax} addresses, not ${redirects.length}.`,
    )
  }
  const kinds = redirects.map(redirectKind)
  const isNative = kinds.includes('native') || metadata['application_type'] === 'native'
  return {
    redirect_uris: redirects,
    application_type: isNative ? 'native' : 'web',
    grant_types: grantsOf(metadata['grant_types']),
    response_types: ['code'],
    ...(method === undefined
      ? {}
      : { token_endpoint_auth_method: textOf(method, 'token_endpoint_auth_method') }),
    ...nameOf(metadata['client_name']),
    ...addressesOf(metadata),
    ...contactsOf(metadata['contacts']),
    ...(method === 'private_key_jwt' ? keysOf(metadata) : {}),
  }
}

function grantsOf(value: unknown): string[] {
  if (value === undefined) return offeredGrants
  if (!Array.isArray(value)) throw invalid("'grant_types' must be a list.")
  const offered = offeredGrants.filter((grant) => value.includes(grant))
  if (offered.includes('authorization_code')) return offered
  throw invalid(
    value.includes('client_credentials')
      ? "Clients with the grant 'client_credentials' cannot register themselves. An administrator of an account creates them."
      : "None of the 'grant_types' is supported. Send authorization_code, with or without refresh_token.",
  )
}

/** A name to show to people. */
function nameOf(value: unknown): { client_name?: string } {
  if (value === undefined) return {}
  const name = plainLine(textOf(value, 'client_name'), nameLengthMax)
  return name === '' ? {} : { client_name: name }
}

/** Addresses of pages about the client; only https addresses are kept. */
function addressesOf(metadata: Record<string, unknown>): Partial<ClientMetadata> {
  const addresses = aboutClient.flatMap((member) => {
    const given = metadata[member]
    const isTaken =
      typeof given === 'string' &&
      given.length <= addressLengthMax &&
      /^[!-~]+$/.test(given) &&
      URL.parse(given)?.protocol === 'https:'
    return isTaken ? [[member, given] as const] : []
  })
  return Object.fromEntries(addresses)
}

function contactsOf(value: unknown): { contacts?: string[] } {
  if (!Array.isArray(value)) return {}
  const contacts = value.filter(
    (one): one is string =>
      typeof one === 'string' && /^[\w.+-]{1,64}@[\w-]+(\.[\w-]+)*$/.test(one),
  )
  return contacts.length === 0 ? {} : { contacts: contacts.slice(0, contactsMax) }
}

/** The public keys of a client with `private_key_jwt`; oidc-provider checks them. */
function keysOf({ jwks, jwks_uri: address }: Record<string, unknown>): Partial<ClientMetadata> {
  if (typeof jwks === 'object' && jwks !== null) return { jwks: jwks as Record<string, never> }
  return address === undefined ? {} : { jwks_uri: textOf(address, 'jwks_uri') }
}

function textOf(value: unknown, member: string): string {
  if (typeof value === 'string') return value
  throw invalid(`'${member}' must be a string.`)
}

function invalid(message: string): OAuthRefusal {
  return new OAuthRefusal('invalid_client_metadata', message)
}

const redirectLengthMax = 2000
/** Private schemes without a dot, of programs that connect to tool servers. */
const knownSchemes = new Set([
  'antigravity:',
  'cherrystudio:',
  'claude:',
  'code-oss:',
  'cursor:',
  'goose:',
  'kiro:',
  'lmstudio:',
  'raycast:',
  'trae:',
  'vscode-insiders:',
  'vscode:',
  'vscodium:',
  'warp:',
  'windsurf:',
  'zed:',
])
/** A reversed domain name (RFC 8252 section 7.1), except the schemes of Windows. */
const reverseDomain =
  /^(?!(?:microsoft|windows|ms)\.)(?:[a-z]{2,63}|xn--[a-z0-9-]+)(?:\.[a-z0-9+-]+)+:$/
const loopbackNames = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * The kind of client that a redirect address belongs to: `native` for a program on the person's
 * machine (RFC 8252), with http on loopback or a private scheme. Throws `invalid_redirect_uri`.
 */
function redirectKind(address: unknown): 'web' | 'native' {
  if (typeof address !== 'string') throw refusedRedirect('An entry is not a string.')
  const shown = `'${address.slice(0, 100)}'`
  if (address.length > redirectLengthMax)
    throw refusedRedirect(`${shown} is longer than ${redirectLengthMax} characters.`)
  // Parsers differ on characters outside this range.
  if (!/^[!-[\]-~]+$/.test(address))
    throw refusedRedirect(`${shown} contains characters that are not allowed in addresses.`)
  const url = URL.parse(address)
  if (url === null) throw refusedRedirect(`${shown} is not an absolute address.`)
  const { protocol, username, password, hostname } = url
  if (address.includes('#')) throw refusedRedirect(`${shown} has a fragment.`)
  if (username !== '' || password !== '') throw refusedRedirect(`${shown} contains credentials.`)
  const isWeb = protocol === 'https:' || protocol === 'http:'
  // `URL` parses `https:///cb` with the host `cb`.
  if (isWeb && !/^https?:\/\/[^/?]/i.test(address)) throw refusedRedirect(`${shown} has no host.`)
  if (protocol === 'https:') return 'web'
  if (protocol === 'http:') {
    if (loopbackNames.has(hostname)) return 'native'
    throw refusedRedirect(
      `${shown} uses http. Use https, or http on localhost, 127.0.0.1 or [::1].`,
    )
  }
  if (knownSchemes.has(protocol) || reverseDomain.test(protocol)) return 'native'
  throw refusedRedirect(
    `${shown} has the scheme '${protocol}'. Use https, http on localhost, 127.0.0.1 or [::1], or a scheme that is a reversed domain name, such as 'com.example.app:'.`,
  )
}

function refusedRedirect(text: string): OAuthRefusal {
  return new OAuthRefusal('invalid_redirect_uri', `'redirect_uris' is invalid: ${text}`)
}
