/** What all clients need of an address, before any of them is played. */
import { isSilent, type Answer, type Ask, type Line } from './ask.ts'
import { brokenAnswer } from './checks/any-answer.ts'
import { sawCredentials } from './checks/challenge.ts'
import { isUnknown } from './checks/metadata.ts'
import { setBaseUrl, type Fault } from './fault.ts'
import { initialize, post } from './messages.ts'
import { clients } from './clients.ts'
import { readObject } from './move.ts'
import { wellKnown, type Target } from './target.ts'

/** A check of the ground: what works, or what does not. */
export type Ground = {
  works: string
  /** Whose alone it is. */
  whom?: readonly string[]
  examine(line: Line, target: Target): Promise<Fault | undefined>
}

const known = (target: Target, asked: string) => ({ target, client: clients[0]!, asked })

export const grounds: readonly Ground[] = [
  {
    works: 'a key arrives in the header Authorization',
    examine: (line, target) => presenting(line, target, 'authorization', 'Bearer not-a-key'),
  },
  {
    works: 'a key arrives in the header x-api-key',
    examine: (line, target) => presenting(line, target, 'x-api-key', 'not-a-key'),
  },
  {
    works: 'each answer is a new one',
    examine: async (line, target) => {
      const ask: Ask = {
        method: 'GET',
        url: target.endpoint,
        headers: { accept: 'application/json' },
      }
      const [first, second] = [await line.ask(ask), await line.ask(ask)]
      return isSilent(first) || isSilent(second) ? undefined : cached(first, second)
    },
  },
  {
    works: 'what is not there is 404',
    examine: async (line, target) => {
      const url = wellKnown(target, 'connection-check-that-nobody-has')
      const told = await line.ask({ method: 'GET', url })
      if (isSilent(told)) return undefined
      return isUnknown(told, known(target, `GET ${url.pathname}`))
    },
  },
  {
    works: 'a query behind the address changes nothing',
    examine: async (line, target) => {
      const endpoint = new URL(target.endpoint)
      endpoint.searchParams.set('connection', 'check')
      const told = await line.ask(post({ endpoint }, initialize))
      if (isSilent(told) || told.status === 401) return undefined
      return {
        code: 'query_refused',
        text: `With a query behind it the address is answered ${told.status} and not 401.`,
        remedy: 'Match the path alone in the proxy: nginx `location /`, without a test of `$args`.',
      }
    },
  },
  {
    works: 'forged headers of a proxy are not believed',
    examine: forged,
  },
  {
    works: 'bodies of pictures pass',
    examine: large,
  },
  {
    works: 'browsers may read what they get (CORS)',
    whom: ['MCP Inspector in a browser'],
    examine: preflight,
  },
]

async function presenting(line: Line, target: Target, header: string, value: string) {
  const ask = post(target, initialize, { [header]: value })
  const told = await line.ask(ask)
  const broken = brokenAnswer(ask, told)
  return broken ?? sawCredentials(told as Answer, header)
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
    text: 'Two requests got one answer: a cache stands before the gateway, and gives people what is another’s.',
    remedy:
      'Switch it off for /mcp, /v1/, /api/, /oauth/ and /.well-known/: nginx `proxy_cache off;`, at a CDN a rule that bypasses the cache.',
  }
}

const forgedHost = 'forged.example'

/** Whoever writes a header must not choose where others sign in. */
async function forged(line: Line, target: Target): Promise<Fault | undefined> {
  const url = wellKnown(target, 'oauth-authorization-server')
  const headers = {
    'x-forwarded-host': forgedHost,
    'x-forwarded-proto': target.isEncrypted ? 'http' : 'https',
    forwarded: `host=${forgedHost};proto=${target.isEncrypted ? 'http' : 'https'}`,
  }
  const told = await line.ask({ method: 'GET', url, headers })
  const { issuer } = (isSilent(told) ? undefined : readObject(told)) ?? {}
  const named = typeof issuer === 'string' ? URL.parse(issuer) : null
  const isForged =
    named?.hostname === forgedHost ||
    (named?.host === target.endpoint.host && named.protocol !== target.endpoint.protocol)
  if (!isForged || (await saysSoAnyhow(line, url, issuer))) return undefined
  return {
    code: 'forged_host_believed',
    text: 'A caller who writes X-Forwarded-Host or X-Forwarded-Proto is answered with other addresses to sign in at.',
    remedy: `${setBaseUrl(target.origin)} Have the proxy write these headers anew (deploy/proxies).`,
  }
}

/** Whether that is wrong without any forged header too, which is told as another fault. */
async function saysSoAnyhow(line: Line, url: URL, issuer: unknown): Promise<boolean> {
  const told = await line.ask({ method: 'GET', url })
  return !isSilent(told) && readObject(told)?.['issuer'] === issuer
}

/** A picture of a camera, as base64 in a message. */
const pictureBytes = 8 * 1024 * 1024

async function large(line: Line, target: Target): Promise<Fault | undefined> {
  const ask = post(target, {
    method: 'ping',
    params: { _meta: { filler: 'x'.repeat(pictureBytes) } },
  })
  const told = await line.ask(ask)
  // Who refuses the caller need not read what the caller sends.
  if (isSilent(told) || told.status !== 413) return undefined
  return {
    code: 'bodies_too_small',
    text: 'A body of 8 MiB is refused (413): pictures to be edited do not pass.',
    remedy:
      'Raise the limit of the proxy to that of the gateway (limits.request_bytes_max): nginx `client_max_body_size 50331648;`, Caddy `request_body { max_size 50331648 }`.',
  }
}

/** Where the Inspector runs in a browser. */
const pageOrigin = 'http://localhost:6274'

async function preflight(line: Line, target: Target): Promise<Fault | undefined> {
  const headers = {
    origin: pageOrigin,
    'access-control-request-method': 'POST',
    'access-control-request-headers':
      'authorization,content-type,mcp-protocol-version,mcp-session-id',
  }
  const places = [target.endpoint, wellKnown(target, 'oauth-protected-resource', '/mcp')]
  for (const url of places) {
    const told = await line.ask({ method: 'OPTIONS', url, headers })
    if (isSilent(told)) return undefined
    const allowed = told.headers['access-control-allow-origin']
    if (told.status < 300 && (allowed === '*' || allowed === pageOrigin)) continue
    return {
      code: 'preflight_refused',
      text: `OPTIONS ${url.pathname} from a page of ${pageOrigin} is answered ${told.status} without Access-Control-Allow-Origin: clients in a browser (MCP Inspector) cannot connect.`,
      remedy:
        'Have the proxy pass OPTIONS to the gateway, which answers it, and add no Access-Control headers of its own.',
    }
  }
  return undefined
}
