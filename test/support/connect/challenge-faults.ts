import {
  pageAt,
  plainAt,
  withoutAnswerHeader,
  withHeader,
  type SeededFault,
} from './seeded-fault.ts'

/** Faults between a client and the MCP endpoint or its challenge. */
export const challengeFaults: readonly SeededFault[] = [
  {
    wrong: 'http is redirected to https',
    code: 'redirected_to_https',
    says: /redirects to 'https:.*lose the body/,
    remedy: /Give clients the address https:\/\//,
    script: {
      instead: ({ url, headers }, response) => {
        response.writeHead(301, { location: `https://${headers.host}${url}` }).end()
        return true
      },
    },
  },
  {
    wrong: '/mcp is redirected to /mcp/',
    code: 'redirected_to_slash',
    says: /redirects to \/mcp\//,
    remedy: /location \/mcp/,
    script: plainAt(/^\/mcp$/, 301, { location: '/mcp/' }),
  },
  {
    wrong: 'the proxy has a sign-in of its own on another host',
    code: 'redirected_elsewhere',
    says: /redirects to 'https:\/\/login\.example\/start'/,
    remedy: /sign-in of the proxy/,
    script: plainAt(/./, 302, { location: 'https://login.example/start?secret=1' }),
  },
  {
    wrong: 'the gateway does not run',
    code: 'gateway_gone',
    says: /answered 502 by the proxy/,
    remedy: /\/ready/,
    script: pageAt(/./, 502),
  },
  {
    wrong: 'a bot protection refuses requests',
    code: 'guarded',
    says: /firewall or bot protection/,
    remedy: /Let requests to \/mcp/,
    script: pageAt(/./, 403),
  },
  {
    wrong: '/mcp/* is proxied, but not /mcp',
    code: 'only_below_endpoint',
    says: /\/mcp\/ reaches the gateway, but \/mcp does not/,
    remedy: /has to match \/mcp too/,
    script: {
      instead: ({ url }, response) => {
        if (url !== '/mcp') return false
        response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>not found</h1>')
        return true
      },
    },
  },
  {
    wrong: 'another server is at the address',
    code: 'endpoint_missing',
    says: /no tool server at \/mcp/,
    remedy: /Pass all paths/,
    script: pageAt(/./, 404),
  },
  {
    wrong: 'GET is answered by the proxy',
    code: 'not_challenged',
    says: /GET \/mcp without credentials is answered 200/,
    remedy: /every method of \/mcp/,
    script: {
      instead: ({ method, url = '' }, response) => {
        if (method !== 'GET' || !url.startsWith('/mcp')) return false
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
        return true
      },
    },
    whom: ['Claude', 'Cursor', 'mcp-remote'],
  },
  {
    wrong: 'WWW-Authenticate is stripped',
    code: 'challenge_missing',
    says: /has no WWW-Authenticate/,
    remedy: /proxy_hide_header/,
    script: withoutAnswerHeader('www-authenticate'),
  },
  {
    wrong: 'the proxy asks for a password',
    code: 'challenge_of_proxy',
    says: /begins with 'Basic'/,
    remedy: /auth_basic/,
    script: withHeader(/^\/mcp/, 'www-authenticate', 'Basic realm="staff"'),
  },
  {
    wrong: 'the challenge names no metadata',
    code: 'challenge_without_metadata',
    says: /has no resource_metadata/,
    remedy: /rewrites WWW-Authenticate/,
    script: withHeader(/^\/mcp/, 'www-authenticate', 'Bearer realm="mcp"'),
  },
  {
    wrong: 'the challenge names a relative address',
    code: 'challenge_relative',
    says: /not an absolute address/,
    remedy: /BASE_URL/,
    script: withHeader(/^\/mcp/, 'www-authenticate', 'Bearer resource_metadata="/.well-known/x"'),
  },
  {
    wrong: 'BASE_URL names another host',
    code: 'challenge_other_host',
    says: /names 'http:\/\/inside:8080', but clients connect to/,
    remedy: /Set BASE_URL=http/,
    baseUrl: () => 'http://inside:8080',
  },
]
