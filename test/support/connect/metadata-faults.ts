import { pageAt, plainAt, rewritten, type SeededFault } from './seeded-fault.ts'

/** Faults of the OAuth metadata. */
export const metadataFaults: readonly SeededFault[] = [
  {
    wrong: 'BASE_URL names another scheme',
    code: 'server_other_scheme',
    says: /authorization_servers names https:\/\/, but clients connect over http/,
    remedy: /Set BASE_URL=http/,
    baseUrl: (url) => url.replace('http:', 'https:'),
  },
  {
    wrong: 'the metadata below the path is missing',
    code: 'metadata_missing',
    says: /oauth-protected-resource\/mcp is answered 404/,
    remedy: /acme-challenge/,
    script: plainAt(/oauth-protected-resource\/mcp/, 404),
  },
  {
    wrong: 'the metadata at the root is missing',
    code: 'metadata_missing',
    says: /oauth-protected-resource is answered 404/,
    remedy: /acme-challenge/,
    script: plainAt(/oauth-protected-resource$/, 404),
    whom: ['Claude Code'],
  },
  {
    wrong: 'the metadata of the server is missing at the root',
    code: 'metadata_missing',
    says: /oauth-authorization-server is answered 404/,
    remedy: /acme-challenge/,
    script: plainAt(/oauth-authorization-server$/, 404),
  },
  {
    wrong: 'the metadata of the server is missing below the path',
    code: 'metadata_missing',
    says: /oauth-authorization-server\/mcp is answered 404/,
    remedy: /acme-challenge/,
    script: plainAt(/oauth-authorization-server\/mcp/, 404),
  },
  {
    wrong: 'an application answers every path with its page',
    code: 'proxy_page',
    says: /answered with an HTML page \(200\)/,
    remedy: /Pass all paths/,
    script: pageAt(/well-known/, 200),
  },
  {
    wrong: 'an unknown well-known address is answered',
    code: 'unknown_answered',
    says: /which does not exist, is answered 200/,
    remedy: /exclude \/\.well-known/,
    script: {
      instead: ({ url = '' }, response) => {
        if (!url.includes('does-not-exist')) return false
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
        return true
      },
    },
  },
  {
    wrong: 'metadata is no JSON',
    code: 'metadata_unreadable',
    says: /not with a JSON object/,
    remedy: /Another server answers/,
    script: { text: (body, { url = '' }) => (url.includes('oauth-') ? 'ok' : body) },
  },
  {
    wrong: 'the resource ends with a slash',
    code: 'resource_other',
    says: /the resource 'http.*\/mcp\/', but the address is/,
    remedy: /without a slash/,
    script: rewritten(/protected-resource/, (json) => (json['resource'] += '/')),
  },
  {
    wrong: 'no server is named',
    code: 'servers_missing',
    says: /no valid address in authorization_servers/,
    remedy: /Update/,
    resource: { authorization_servers: [] },
  },
  {
    wrong: 'the issuer ends with a slash',
    code: 'issuer_other',
    says: /byte for byte/,
    remedy: /BASE_URL/,
    script: rewritten(/authorization-server/, (json) => (json['issuer'] += '/')),
  },
  {
    wrong: 'the token endpoint is on another host',
    code: 'endpoint_other_host',
    says: /token_endpoint names 'https:\/\/idp\.example'/,
    remedy: /BASE_URL/,
    server: { token_endpoint: 'https://idp.example/token' },
  },
  {
    wrong: 'PKCE is not offered',
    code: 's256_missing',
    says: /lacks 'S256'/,
    remedy: /Update/,
    server: { code_challenge_methods_supported: ['plain'] },
  },
  {
    wrong: 'public clients are not offered',
    code: 'public_clients_missing',
    says: /lacks 'none'/,
    remedy: /Update/,
    server: { token_endpoint_auth_methods_supported: ['client_secret_post'] },
  },
  {
    wrong: 'refresh tokens are not offered',
    code: 'offline_access_missing',
    says: /lacks 'offline_access'.*each hour/,
    remedy: /Update/,
    server: { scopes_supported: ['mcp'] },
  },
  {
    wrong: 'tokens cannot be refreshed',
    code: 'refresh_missing',
    says: /lacks 'refresh_token'/,
    remedy: /Update/,
    server: { grant_types_supported: ['authorization_code'] },
  },
  {
    wrong: 'only client documents are accepted',
    code: 'registration_closed',
    says: /no registration_endpoint, and the client has no client ID metadata document/,
    remedy: /CLIENT_REGISTRATION=open/,
    server: { registration_endpoint: undefined },
    whom: ['Cursor', 'mcp-remote'],
  },
  {
    wrong: 'no client can register',
    code: 'no_registration',
    says: /no client can register/,
    remedy: /CLIENT_REGISTRATION=open/,
    server: { registration_endpoint: undefined, client_id_metadata_document_supported: false },
  },
]
