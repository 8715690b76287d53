import { hasNoAnswer, patienceMs, type Answer, type Ask, type NoAnswer } from '../ask.ts'
import { passAllPathsRemedy, quoted, type Fault } from '../fault.ts'

const seconds = patienceMs / 1000

/** A fault that any request can have; `mayRedirect` and `mayBePage` allow a redirect and an HTML page. */
export function brokenAnswer(
  { method, url }: Ask,
  response: Answer | NoAnswer,
  { mayRedirect = false, mayBePage = false }: { mayRedirect?: boolean; mayBePage?: boolean } = {},
): Fault | undefined {
  const asked = `${method} ${url.pathname}`
  if (hasNoAnswer(response))
    return response.errorCode === 'timeout' ? slow(asked) : cut(asked, response.errorCode)
  const { status, headers } = response
  if (status >= 300 && status < 400 && !mayRedirect) return redirected(url, response)
  if ([502, 503, 504].includes(status)) return gone(asked, status)
  if (mayBePage || !isPage(headers)) return undefined
  return status === 403 ? guarded(asked) : ownPage(asked, status)
}

function slow(request: string): Fault {
  return {
    code: 'slow_answer',
    text: `${request} had no answer within ${seconds} s. Hosted clients stop waiting after that time.`,
    remedy:
      'Check the load of the gateway and its store (/metrics), and look for proxies or machines that are suspended when idle.',
  }
}

function cut(request: string, reason: string): Fault {
  return {
    code: 'connection_cut',
    text: `The connection of ${request} was closed without an answer (${reason}).`,
    remedy:
      'Read the log of the proxy: a firewall or a limit closes such requests before the gateway answers.',
  }
}

/** The fault of a redirect, after which a POST arrives as a GET without body and credentials. */
function redirected(url: URL, { status, headers }: Answer): Fault {
  const to = URL.parse(headers['location'] ?? '', url.href)
  const lost = 'Clients that follow a redirect lose the body and the credentials of a POST.'
  if (to === null) {
    return {
      code: 'redirected',
      text: `${url.pathname} redirects (${status}) without a valid Location. ${lost}`,
      remedy: passAllPathsRemedy,
    }
  }
  if (to.host === url.host && to.protocol === 'https:' && url.protocol === 'http:') {
    return {
      code: 'redirected_to_https',
      text: `${url.href} redirects to ${shown(to)} (${status}). ${lost}`,
      remedy: `Give clients the address ${to.origin}${url.pathname}, and set BASE_URL=${to.origin}.`,
    }
  }
  if (to.host === url.host && to.pathname === `${url.pathname}/`) {
    return {
      code: 'redirected_to_slash',
      text: `${url.pathname} redirects to ${to.pathname} (${status}). ${lost}`,
      remedy: `Configure the proxy to pass ${url.pathname} too: nginx \`location ${url.pathname}\` or \`location /\`, not \`location ${url.pathname}/\`.`,
    }
  }
  return {
    code: to.host === url.host ? 'redirected' : 'redirected_elsewhere',
    text: `${url.pathname} redirects to ${shown(to)} (${status}). ${lost}`,
    remedy:
      'Give clients the final address. If the sign-in of the proxy redirects, exclude the gateway from it.',
  }
}

/** An address without its query, which may contain a secret. */
function shown({ origin, pathname }: URL): string {
  return quoted(`${origin}${pathname}`)
}

function gone(request: string, status: number): Fault {
  return {
    code: 'gateway_gone',
    text: `${request} is answered ${status} by the proxy, which cannot reach the gateway.`,
    remedy: 'Check that the gateway runs (/ready) and that the proxy has its address and port.',
  }
}

function guarded(request: string): Fault {
  return {
    code: 'guarded',
    text: `${request} is refused with an HTML page (403), probably by a firewall or bot protection in front of the gateway.`,
    remedy:
      'Let requests to /mcp, /oauth/ and /.well-known/ pass without a bot challenge: their callers are programs, not browsers.',
  }
}

function ownPage(request: string, status: number): Fault {
  return {
    code: 'proxy_page',
    text: `${request} is answered with an HTML page (${status}) that does not come from the gateway.`,
    remedy: `${passAllPathsRemedy} nginx needs \`proxy_intercept_errors off;\`.`,
  }
}

function isPage(headers: Answer['headers']): boolean {
  return /^text\/html/i.test(headers['content-type'] ?? '')
}
