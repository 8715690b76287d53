import { schemaChecks } from '../../generated/checks.js'
import { offlineScope, resourceAt, toolScope } from './metadata.ts'
import { OAuthRefusal } from './error-answer.ts'

/** Parameters of OpenID Connect, which have no effect without ID tokens. */
const ofIdTokens = ['acr_values', 'claims', 'claims_locales', 'id_token_hint', 'max_age', 'nonce']
const knownPrompts = new Set(['none', 'consent'])

/** Whether a scope is of keys and people only: OAuth clients never get it. */
export function isReserved(scope: string): boolean {
  return scope !== 'inference' && schemaChecks.Scope(scope)
}

/**
 * The corrected parameters of an authorization request: with a scope, with the tool server's address
 * as the resource however it is spelled, and without parameters of ID tokens
 * (docs/oauth.md#what-clients-say).
 */
export function authorizationParameters(given: URLSearchParams, origin: string): URLSearchParams {
  const meant = withResource(given, origin)
  for (const name of ofIdTokens) meant.delete(name)
  const prompts = (meant.get('prompt') ?? '').split(' ').filter((one) => knownPrompts.has(one))
  if (prompts.length === 0) meant.delete('prompt')
  else meant.set('prompt', prompts.join(' '))
  if (meant.getAll('scope').length < 2) {
    const asked = (meant.get('scope') ?? '').split(' ')
    const kept = asked.filter((scope) => scope === offlineScope || isReserved(scope))
    meant.set('scope', [toolScope, ...kept].join(' '))
  }
  return meant
}

/**
 * The corrected parameters of a token request. Throws `invalid_target` for another resource,
 * before a code or refresh token is used up for it.
 */
export function tokenParameters(given: URLSearchParams, origin: string): URLSearchParams {
  const meant = withResource(given, origin)
  if (meant.getAll('resource').some((one) => one !== resourceAt(origin))) {
    throw new OAuthRefusal('invalid_target', `'resource' must be ${resourceAt(origin)}.`)
  }
  if (meant.get('grant_type') === 'refresh_token' && meant.getAll('scope').length === 1) {
    // This scope asks for the refresh token that the client already has.
    const asked = meant.get('scope')!.split(' ')
    meant.set('scope', asked.filter((scope) => scope !== offlineScope).join(' '))
  }
  const isOfClient = meant.get('grant_type') === 'client_credentials'
  if (isOfClient && !meant.get('scope')) meant.set('scope', toolScope)
  return meant
}

function withResource(given: URLSearchParams, origin: string): URLSearchParams {
  const meant = new URLSearchParams()
  for (const [name, value] of given) {
    meant.append(name, name === 'resource' && isOurs(value, origin) ? resourceAt(origin) : value)
  }
  const resources = new Set(meant.getAll('resource'))
  meant.delete('resource')
  for (const resource of resources) if (resource !== '') meant.append('resource', resource)
  return meant
}

/** Whether a resource is the tool server: its address, or that of the gateway, with a slash or without. */
function isOurs(resource: string, origin: string): boolean {
  const plain = URL.parse(resource)?.href.replace(/\/$/, '')
  return plain === resourceAt(origin) || plain === origin
}
