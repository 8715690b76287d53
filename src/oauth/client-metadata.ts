import type { components } from '../../generated/types.ts'
import { plainLine } from '../core/words/shorten.ts'
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
 * The metadata of a client, corrected: real clients omit `application_type` or have it wrong, and
 * ask for grants and scopes that are not offered (docs/oauth.md#what-clients-say).
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

/** Addresses of pages about the client; only https addresses are kept. */
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

const redirectLengthMax = 2000
/** Schemes of programs that connect to tool servers and have no dot in their scheme. */
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
/** The maker's domain name, reversed (RFC 8252 section 7.1), but none of Windows' own schemes. */
const reverseDomain = /^(?!(?:microsoft|windows|ms)\.)[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:$/
const loopbackNames = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * The kind of client that a redirect address belongs to: `native` for a program on the person's
 * machine (RFC 8252), with http on loopback or a private scheme. Throws `invalid_redirect_uri`.
 */
function redirectKind(address: unknown): 'web' | 'native' {
  if (typeof address !== 'string') throw refusedRedirect('An entry is no text.')
  const shown = `'${address.slice(0, 100)}'`
  if (address.length > redirectLengthMax)
    throw refusedRedirect(`${shown} is longer than ${redirectLengthMax} characters.`)
  // Parsers differ on characters outside this range.
  if (!/^[!-[\]-~]+$/.test(address))
    throw refusedRedirect(`${shown} has characters that addresses do not.`)
  const url = URL.parse(address)
  if (url === null) throw refusedRedirect(`${shown} is no address.`)
  const { protocol, username, password, hostname } = url
  if (address.includes('#')) throw refusedRedirect(`${shown} has a fragment.`)
  if (username !== '' || password !== '') throw refusedRedirect(`${shown} holds credentials.`)
  const isWeb = protocol === 'https:' || protocol === 'http:'
  // URL takes the path of `https:///cb` for its host.
  if (isWeb && !/^https?:\/\/[^/?]/i.test(address)) throw refusedRedirect(`${shown} has no host.`)
  if (protocol === 'https:') return 'web'
  if (protocol === 'http:') {
    if (loopbackNames.has(hostname)) return 'native'
    throw refusedRedirect(`${shown} is http. Use https, or http on localhost, 127.0.0.1 or [::1].`)
  }
  if (knownSchemes.has(protocol) || reverseDomain.test(protocol)) return 'native'
  throw refusedRedirect(
    `${shown} has the scheme '${protocol}'. Use https, http on localhost, 127.0.0.1 or [::1], or a scheme that is a reversed domain name, such as 'com.example.app:'.`,
  )
}

function refusedRedirect(text: string): OAuthRefusal {
  return new OAuthRefusal('invalid_redirect_uri', `'redirect_uris' cannot be taken: ${text}`)
}
