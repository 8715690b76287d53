import { schemaChecks } from '../../generated/checks.js'
import { offlineScope, resourceAt, toolScope } from './metadata.ts'
import { OAuthRefusal } from './error-answer.ts'

/** Parameters of OpenID Connect, which have no effect without ID tokens. */
const ofIdTokens = ['acr_values', 'claims', 'claims_locales', 'id_token_hint', 'max_age', 'nonce']
const knownPrompts = new Set(['none', 'consent'])

/** Whether a scope is reserved for API keys and people: OAuth clients never get it. */
export function isReserved(scope: string): boolean {
  return scope !== 'inference' && schemaChecks.Scope(scope)
}

/**
 * Corrects the parameters of an authorization request: sets a scope, normalizes the resource to the
 * tool server's address, and removes the parameters of ID tokens (docs/oauth.md#what-clients-say).
 */
export function authorizationParameters(
  parameters: URLSearchParams,
  origin: string,
): URLSearchParams {
  const corrected = withResource(parameters, origin)
  for (const name of ofIdTokens) corrected.delete(name)
  const prompts = (corrected.get('prompt') ?? '').split(' ').filter((one) => knownPrompts.has(one))
  if (prompts.length === 0) corrected.delete('prompt')
  else corrected.set('prompt', prompts.join(' '))
  keepOwnScopes(corrected, (scope) => scope === offlineScope || isReserved(scope))
  return corrected
}

/**
 * Requests the scope of the tool server and those that `kept` selects. A client may ask again for what a sign-in
 * did not grant, such as the scopes of OpenID Connect. A repeated parameter is refused by oidc-provider.
 */
function keepOwnScopes(corrected: URLSearchParams, kept: (scope: string) => boolean): void {
  if (corrected.getAll('scope').length > 1) return
  const scopes = (corrected.get('scope') ?? '').split(' ')
  corrected.set('scope', [toolScope, ...scopes.filter(kept)].join(' '))
}

/**
 * Corrects the parameters of a token request. Throws `invalid_target` for another resource,
 * before its code or refresh token is consumed.
 */
export function tokenParameters(parameters: URLSearchParams, origin: string): URLSearchParams {
  const corrected = withResource(parameters, origin)
  if (corrected.getAll('resource').some((one) => one !== resourceAt(origin))) {
    throw new OAuthRefusal('invalid_target', `'resource' must be ${resourceAt(origin)}.`)
  }
  const grant = corrected.get('grant_type')
  if (grant === 'refresh_token' || grant === 'client_credentials') {
    keepOwnScopes(corrected, isReserved)
  }
  return corrected
}

function withResource(parameters: URLSearchParams, origin: string): URLSearchParams {
  const corrected = new URLSearchParams()
  for (const [name, value] of parameters) {
    corrected.append(
      name,
      name === 'resource' && isOurs(value, origin) ? resourceAt(origin) : value,
    )
  }
  const resources = new Set(corrected.getAll('resource'))
  corrected.delete('resource')
  for (const resource of resources) if (resource !== '') corrected.append('resource', resource)
  return corrected
}

/** Whether a resource is the address of the tool server or of the gateway, with or without a final slash. */
function isOurs(resource: string, origin: string): boolean {
  const plain = URL.parse(resource)?.href.replace(/\/$/, '')
  return plain === resourceAt(origin) || plain === origin
}
