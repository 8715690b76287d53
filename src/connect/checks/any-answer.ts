import { isSilent, patienceMs, type Answer, type Ask, type Silence } from '../ask.ts'
import { passAllPaths, quoted, type Fault } from '../fault.ts'

const seconds = patienceMs / 1000

/** What is wrong with an answer whatever was asked; `mayRedirect` where an answer may be one. */
export function brokenAnswer(
  { method, url }: Ask,
  told: Answer | Silence,
  { mayRedirect = false, mayBePage = false }: { mayRedirect?: boolean; mayBePage?: boolean } = {},
): Fault | undefined {
  const asked = `${method} ${url.pathname}`
  if (isSilent(told)) return told.silent === 'timeout' ? slow(asked) : cut(asked, told.silent)
  const { status, headers } = told
  if (status >= 300 && status < 400 && !mayRedirect) return redirected(url, told)
  if ([502, 503, 504].includes(status)) return gone(asked, status)
  if (mayBePage || !isPage(headers)) return undefined
  return status === 403 ? guarded(asked) : ownPage(asked, status)
}

function slow(asked: string): Fault {
  return {
    code: 'slow_answer',
    text: `${asked} had no answer within ${seconds} s; hosted clients give up then.`,
    remedy:
      'Look at the load of the gateway and its store (/metrics), and at proxies or machines that sleep while nobody asks.',
  }
}

function cut(asked: string, reason: string): Fault {
  return {
    code: 'connection_cut',
    text: `The connection of ${asked} ended without an answer (${reason}).`,
    remedy:
      'Look into the log of the proxy: a firewall or a limit of it ends such requests before the gateway answers.',
  }
}

/** A redirected POST arrives as a GET, without its body or its credentials. */
function redirected(url: URL, { status, headers }: Answer): Fault {
  const to = URL.parse(headers['location'] ?? '', url.href)
  const lost = 'Clients lose the body and the credentials of a POST on the way.'
  if (to === null) {
    return {
      code: 'redirected',
      text: `${url.pathname} answers ${status} and leads nowhere. ${lost}`,
      remedy: passAllPaths,
    }
  }
  if (to.host === url.host && to.protocol === 'https:' && url.protocol === 'http:') {
    return {
      code: 'redirected_to_https',
      text: `${url.href} leads to ${shown(to)} (${status}). ${lost}`,
      remedy: `Give clients the address ${to.origin}${url.pathname}, and set BASE_URL=${to.origin}.`,
    }
  }
  if (to.host === url.host && to.pathname === `${url.pathname}/`) {
    return {
      code: 'redirected_to_slash',
      text: `${url.pathname} leads to ${to.pathname} (${status}). ${lost}`,
      remedy: `Have the proxy pass ${url.pathname} itself: nginx \`location ${url.pathname}\` or \`location /\`, not \`location ${url.pathname}/\`.`,
    }
  }
  return {
    code: to.host === url.host ? 'redirected' : 'redirected_elsewhere',
    text: `${url.pathname} leads to ${shown(to)} (${status}). ${lost}`,
    remedy:
      'Give clients the address that is meant. A sign-in of the proxy itself has to leave the gateway out.',
  }
}

/** An address without its query, which may hold a secret. */
function shown({ origin, pathname }: URL): string {
  return quoted(`${origin}${pathname}`)
}

function gone(asked: string, status: number): Fault {
  return {
    code: 'gateway_gone',
    text: `${asked} is answered ${status} by the proxy, which does not reach the gateway.`,
    remedy: 'See that the gateway runs (/ready) and that the proxy has its address and port.',
  }
}

function guarded(asked: string): Fault {
  return {
    code: 'guarded',
    text: `${asked} is refused with a page (403): a firewall or a protection against bots stands before the gateway.`,
    remedy:
      'Let /mcp, /oauth/ and /.well-known/ pass it without a challenge: the programs that call them are no browsers.',
  }
}

function ownPage(asked: string, status: number): Fault {
  return {
    code: 'proxy_page',
    text: `${asked} is answered with an HTML page (${status}), which is not the gateway's.`,
    remedy: `${passAllPaths} nginx needs \`proxy_intercept_errors off;\`.`,
  }
}

function isPage(headers: Answer['headers']): boolean {
  return /^text\/html/i.test(headers['content-type'] ?? '')
}
