/** Checks of an address that hold for all clients, before the requests of each client are sent. */
import { hasNoAnswer, type Answer, type Ask, type Requester } from './ask.ts'
import { brokenAnswer } from './checks/any-answer.ts'
import { acceptsHeader } from './checks/challenge.ts'
import { isUnknown } from './checks/metadata.ts'
import { setBaseUrl, type Fault } from './fault.ts'
import { initialize, post } from './messages.ts'
import { clients } from './clients.ts'
import { readObject } from './step.ts'
import { wellKnown, type Target } from './target.ts'

/** A check for all clients; `works` is reported when it passes. */
type AddressCheck = {
  works: string
  /** The clients that a fault breaks; all clients when absent. */
  whom?: readonly string[]
  examine(requester: Requester, target: Target): Promise<Fault | undefined>
}

const stateFor = (target: Target, request: string) => ({ target, client: clients[0]!, request })

export const addressChecks: readonly AddressCheck[] = [
  {
    works: 'the gateway receives the header Authorization',
    examine: (requester, target) =>
      presenting(requester, target, 'authorization', 'Bearer not-a-key'),
  },
  {
    works: 'the gateway receives the header x-api-key',
    examine: (requester, target) => presenting(requester, target, 'x-api-key', 'not-a-key'),
  },
  {
    works: 'answers are not cached',
    examine: async (requester, target) => {
      const ask: Ask = {
        method: 'GET',
        url: target.endpoint,
        headers: { accept: 'application/json' },
      }
      const [first, second] = [await requester.ask(ask), await requester.ask(ask)]
      return hasNoAnswer(first) || hasNoAnswer(second) ? undefined : cached(first, second)
    },
  },
  {
    works: 'unknown addresses are answered 404',
    examine: async (requester, target) => {
      const url = wellKnown(target, 'connection-check-that-does-not-exist')
      const response = await requester.ask({ method: 'GET', url })
      if (hasNoAnswer(response)) return undefined
      return isUnknown(response, stateFor(target, `GET ${url.pathname}`))
    },
  },
  {
    works: 'a query string in the address is accepted',
    examine: async (requester, target) => {
      const endpoint = new URL(target.endpoint)
      endpoint.searchParams.set('connection', 'check')
      const response = await requester.ask(post({ endpoint }, initialize))
      if (hasNoAnswer(response) || response.status === 401) return undefined
      return {
        code: 'query_refused',
        text: `The address with a query string is answered ${response.status} instead of 401.`,
        remedy: 'Match only the path in the proxy: nginx `location /`, without a test of `$args`.',
      }
    },
  },
  {
    works: 'forged X-Forwarded headers have no effect',
    examine: forged,
  },
  {
    works: 'bodies with images pass',
    examine: large,
  },
  {
    works: 'pages in browsers may read the answers (CORS)',
    whom: ['MCP Inspector in a browser'],
    examine: preflight,
  },
]

async function presenting(requester: Requester, target: Target, header: string, value: string) {
  const ask = post(target, initialize, { [header]: value })
  const response = await requester.ask(ask)
  const broken = brokenAnswer(ask, response)
  return broken ?? acceptsHeader(response as Answer, header)
}

function cached(first: Answer, second: Answer): Fault | undefined {
  const id = first.headers['x-request-id']
  const isSame = id !== undefined && id === second.headers['x-request-id']
  const age = Number(second.headers['age'] ?? 0)
  const isHit = ['x-cache', 'cf-cache-status'].some((name) =>
    /^hit/i.test(second.headers[name] ?? ''),
  )
  if (!isSame && !(age > 0) && !isHit) return undefined
  return {
    code: 'cached',
    text: 'Two requests got the same answer: a cache in front of the gateway gives one caller the answers of another.',
    remedy:
      'Disable it for /mcp, /v1/, /api/, /oauth/ and /.well-known/: nginx `proxy_cache off;`, at a CDN a rule that bypasses the cache.',
  }
}

const forgedHost = 'forged.example'

/** A fault if forged headers of a request change the addresses in the metadata. */
async function forged(requester: Requester, target: Target): Promise<Fault | undefined> {
  const url = wellKnown(target, 'oauth-authorization-server')
  const headers = {
    'x-forwarded-host': forgedHost,
    'x-forwarded-proto': target.isEncrypted ? 'http' : 'https',
    forwarded: `host=${forgedHost};proto=${target.isEncrypted ? 'http' : 'https'}`,
  }
  const response = await requester.ask({ method: 'GET', url, headers })
  const { issuer } = (hasNoAnswer(response) ? undefined : readObject(response)) ?? {}
  const named = typeof issuer === 'string' ? URL.parse(issuer) : null
  const isForged =
    named?.hostname === forgedHost ||
    (named?.host === target.endpoint.host && named.protocol !== target.endpoint.protocol)
  if (!isForged || (await isWrongWithoutForgery(requester, url, issuer))) return undefined
  return {
    code: 'forged_host_believed',
    text: 'A request with a forged X-Forwarded-Host or X-Forwarded-Proto changes the sign-in addresses in the metadata.',
    remedy: `${setBaseUrl(target.origin)} Configure the proxy to overwrite these headers (deploy/proxies).`,
  }
}

/** Whether the issuer is wrong even without forged headers, which another check reports. */
async function isWrongWithoutForgery(
  requester: Requester,
  url: URL,
  issuer: unknown,
): Promise<boolean> {
  const response = await requester.ask({ method: 'GET', url })
  return !hasNoAnswer(response) && readObject(response)?.['issuer'] === issuer
}

/** The size of a message with a camera's picture as base64. */
const pictureBytes = 8 * 1024 * 1024

async function large(requester: Requester, target: Target): Promise<Fault | undefined> {
  const ask = post(target, {
    method: 'ping',
    params: { _meta: { filler: 'x'.repeat(pictureBytes) } },
  })
  const response = await requester.ask(ask)
  // No answer is no fault: the gateway may answer 401 and close before it has read the body.
  if (hasNoAnswer(response) || response.status !== 413) return undefined
  return {
    code: 'bodies_too_small',
    text: 'A body of 8 MiB is refused (413): images to edit cannot be sent.',
    remedy:
      'Raise the limit of the proxy to the limit of the gateway (limits.request_bytes_max): nginx `client_max_body_size 50331648;`, Caddy `request_body { max_size 50331648 }`.',
  }
}

/** The origin of MCP Inspector's page. */
const pageOrigin = 'http://localhost:6274'

async function preflight(requester: Requester, target: Target): Promise<Fault | undefined> {
  const headers = {
    origin: pageOrigin,
    'access-control-request-method': 'POST',
    'access-control-request-headers':
      'authorization,content-type,mcp-protocol-version,mcp-session-id',
  }
  const places = [target.endpoint, wellKnown(target, 'oauth-protected-resource', '/mcp')]
  for (const url of places) {
    const response = await requester.ask({ method: 'OPTIONS', url, headers })
    if (hasNoAnswer(response)) return undefined
    const allowed = response.headers['access-control-allow-origin']
    if (response.status < 300 && (allowed === '*' || allowed === pageOrigin)) continue
    return {
      code: 'preflight_refused',
      text: `OPTIONS ${url.pathname} from a page of ${pageOrigin} is answered ${response.status} without Access-Control-Allow-Origin: clients in a browser (MCP Inspector) cannot connect.`,
      remedy:
        'Configure the proxy to pass OPTIONS to the gateway, and to add no Access-Control headers of its own.',
    }
  }
  return undefined
}
