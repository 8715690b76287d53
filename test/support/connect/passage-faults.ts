import {
  plainAt,
  withoutHeader,
  withoutAnswerHeader,
  withHeader,
  type SeededFault,
} from './seeded-fault.ts'

/** Faults that a proxy causes. */
export const passageFaults: readonly SeededFault[] = [
  {
    wrong: 'Authorization is stripped',
    code: 'authorization_stripped',
    says: /header authorization is not rejected as invalid/,
    remedy: /proxy_set_header Authorization/,
    script: withoutHeader('authorization'),
  },
  {
    wrong: 'x-api-key is stripped',
    code: 'api_key_stripped',
    says: /header x-api-key is not rejected as invalid/,
    remedy: /X-Api-Key/,
    script: withoutHeader('x-api-key'),
  },
  {
    wrong: 'answers are cached',
    code: 'cached',
    says: /got the same answer/,
    remedy: /proxy_cache off/,
    script: withHeader(/^\/mcp/, 'x-request-id', 'req_first'),
  },
  {
    wrong: 'bodies are bounded at 1 MiB',
    code: 'bodies_too_small',
    says: /8 MiB is refused \(413\)/,
    remedy: /client_max_body_size/,
    script: {
      instead: ({ headers }, response) => {
        if (Number(headers['content-length'] ?? 0) < 1_048_576) return false
        response.writeHead(413, { 'content-type': 'text/html' }).end('<h1>too large</h1>')
        return true
      },
    },
  },
  {
    wrong: 'preflights are refused',
    code: 'preflight_refused',
    says: /OPTIONS \/mcp from a page of/,
    remedy: /pass OPTIONS/,
    script: {
      instead: ({ method }, response) => {
        if (method !== 'OPTIONS') return false
        response.writeHead(405).end()
        return true
      },
    },
    whom: ['MCP Inspector in a browser'],
  },
  {
    wrong: 'a query string is not passed',
    code: 'query_refused',
    says: /address with a query string is answered 404/,
    remedy: /Match only the path/,
    script: plainAt(/^\/mcp\?/, 404),
  },
  {
    wrong: 'a forged host is believed',
    code: 'forged_host_believed',
    says: /forged X-Forwarded-Host/,
    remedy: /BASE_URL/,
    script: {
      text: (body, { headers, url = '' }) =>
        headers['x-forwarded-host'] === undefined || !url.includes('oauth-')
          ? body
          : body.replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, 'http://forged.example'),
    },
  },
  {
    wrong: 'the clock is ten minutes behind',
    code: 'clock_off',
    says: /10 minutes behind/,
    remedy: /NTP/,
    script: {
      head: ({ headers }) => void (headers['date'] = new Date(Date.now() - 600_000).toUTCString()),
    },
  },
  {
    wrong: 'one endpoint is slow',
    code: 'slow_answer',
    says: /POST \/oauth\/register had no answer within/,
    remedy: /load of the gateway/,
    script: { instead: ({ url }) => url === '/oauth/register' },
  },
  {
    wrong: 'a firewall closes a connection',
    code: 'connection_cut',
    says: /connection of POST \/oauth\/token was closed without an answer/,
    remedy: /firewall/,
    script: {
      instead: ({ url, socket }) => {
        if (url !== '/oauth/token') return false
        socket.destroy()
        return true
      },
    },
  },
  {
    wrong: 'streams are buffered',
    code: 'stream_buffered',
    says: /sends at once, did not arrive/,
    remedy: /proxy_buffering off/,
    script: { stream: 'buffered' },
  },
  {
    wrong: 'streams are cut',
    code: 'stream_cut',
    says: /was cut after/,
    remedy: /proxy_read_timeout/,
    script: { stream: { cutAfterMs: 20 } },
    holdMs: 5000,
  },
  {
    wrong: 'streams are compressed',
    code: 'stream_compressed',
    says: /compressed \('gzip'\)/,
    remedy: /gzip off/,
    script: {
      head: ({ headers }) => {
        if (String(headers['content-type']).startsWith('text/event-stream')) {
          headers['content-encoding'] = 'gzip'
        }
      },
    },
  },
  {
    wrong: 'Mcp-Session-Id is stripped from answers',
    code: 'session_stripped',
    says: /has no Mcp-Session-Id/,
    remedy: /proxy_hide_header Mcp-Session-Id/,
    script: withoutAnswerHeader('mcp-session-id'),
  },
  {
    wrong: 'Mcp-Session-Id is stripped from requests',
    code: 'session_header_stripped',
    says: /made-up Mcp-Session-Id is answered 200/,
    remedy: /Mcp-Session-Id of requests/,
    script: withoutHeader('mcp-session-id'),
  },
]
