import type { components } from '../../generated/types.ts'

type ServerMetadata = components['schemas']['ServerMetadata']
type ResourceMetadata = components['schemas']['ResourceMetadata']

/** What the operator lets clients do. */
export type ClientRules = {
  /** Clients may register themselves. */
  registration: boolean
  /** Clients may be known by a document that they publish. */
  documents: boolean
}

/** The scope of the tool server, which is also that of calls to `/v1`. */
export const toolScope = 'mcp'
/** The scope that some clients ask for before they take a refresh token. */
export const offlineScope = 'offline_access'

/** How an access token begins, by which it is told from an API key without a look-up. */
export const accessTokenPrefix = 'mag_oauth_'

/** How a client says who it is; `none` is what programs on a person's machine do. */
export const clientAuthMethods = [
  'none',
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
] as const

export const clientSigningAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const

/** Where each endpoint is; the contract has the same paths. */
export const endpoints = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  registration: '/oauth/register',
  revocation: '/oauth/revoke',
  introspection: '/oauth/introspect',
  jwks: '/oauth/jwks',
} as const

/** Where the pages are on which people decide. */
export const interactionPath = '/oauth/interaction/'
/** How long a sign-in may be under way. */
export const interactionSeconds = 3600

/** What tokens are for: the address of the tool server, as a person gives it to a client. */
export function resourceAt(origin: string): string {
  return `${origin}/mcp`
}

/** The tool server as a protected resource (RFC 9728). */
export function resourceMetadata(origin: string): ResourceMetadata {
  return {
    resource: resourceAt(origin),
    authorization_servers: [origin],
    // Without `offline_access`, which is the authorization server's matter.
    scopes_supported: [toolScope],
    bearer_methods_supported: ['header'],
    resource_name: 'Model-Access Gateway',
    resource_documentation: `${origin}/docs`,
  }
}

/** The authorization server (RFC 8414). What does not work is not named. */
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

/** The same for clients of OpenID Connect, with what its discovery requires. */
export function openIdConfiguration(origin: string, rules: ClientRules): ServerMetadata {
  return {
    ...serverMetadata(origin, rules),
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
  }
}
