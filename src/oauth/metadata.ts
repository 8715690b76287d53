import type { components } from '../../generated/types.ts'

type ServerMetadata = components['schemas']['ServerMetadata']
type ResourceMetadata = components['schemas']['ResourceMetadata']

export type ClientRules = {
  /** Clients may register themselves. */
  registration: boolean
  /** Clients may use the address of a published document as their `client_id`. */
  documents: boolean
}

/** The scope for the tool server and for `/v1`. */
export const toolScope = 'mcp'
/** The scope with which some clients request a refresh token. */
export const offlineScope = 'offline_access'

/** The prefix of access tokens; it distinguishes them from API keys without a lookup. */
export const accessTokenPrefix = 'mag_oauth_'

/** The authentication methods of clients; programs on a person's machine use `none`. */
export const clientAuthMethods = [
  'none',
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
] as const

export const clientSigningAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const

/** The path of each endpoint, as in the contract. */
export const endpoints = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  registration: '/oauth/register',
  revocation: '/oauth/revoke',
  introspection: '/oauth/introspect',
  jwks: '/oauth/jwks',
} as const

/** The path of the sign-in with OpenID Connect. */
export const signInPath = '/oauth/sign-in'
/** The path of the consent pages. */
export const interactionPath = '/oauth/interaction/'
/** The time limit of a sign-in. */
export const interactionSeconds = 3600

/** The audience of tokens: the address of the tool server, as a person types it. */
export function resourceAt(origin: string): string {
  return `${origin}/mcp`
}

/** The tool server as a protected resource (RFC 9728). */
export function resourceMetadata(origin: string): ResourceMetadata {
  return {
    resource: resourceAt(origin),
    authorization_servers: [origin],
    // `offline_access` is a scope of the authorization server and not of the resource.
    scopes_supported: [toolScope],
    bearer_methods_supported: ['header'],
    resource_name: 'Model-Access Gateway',
    resource_documentation: `${origin}/docs`,
  }
}

/** The authorization server (RFC 8414). Lists only endpoints that are enabled. */
export function serverMetadata(
  origin: string,
  { registration, documents }: ClientRules,
): ServerMetadata {
  return {
    issuer: origin,
    authorization_endpoint: origin + endpoints.authorization,
    token_endpoint: origin + endpoints.token,
    ...(registration && { registration_endpoint: origin + endpoints.registration }),
    revocation_endpoint: origin + endpoints.revocation,
    introspection_endpoint: origin + endpoints.introspection,
    jwks_uri: origin + endpoints.jwks,
    scopes_supported: [toolScope, offlineScope],
    response_types_supported: ['code'],
    response_modes_supported: ['query', 'fragment', 'form_post'],
    grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
    token_endpoint_auth_methods_supported: [...clientAuthMethods],
    token_endpoint_auth_signing_alg_values_supported: [...clientSigningAlgorithms],
    revocation_endpoint_auth_methods_supported: [...clientAuthMethods],
    introspection_endpoint_auth_methods_supported: [...clientAuthMethods],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    ...(documents && { client_id_metadata_document_supported: true }),
    service_documentation: `${origin}/docs`,
  }
}

/** The metadata for OpenID Connect clients: that of RFC 8414, and the members that discovery requires. */
export function openIdConfiguration(origin: string, rules: ClientRules): ServerMetadata {
  return {
    ...serverMetadata(origin, rules),
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
  }
}
