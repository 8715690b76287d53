import type { Answer } from '../ask.ts'
import { passAllPaths, quoted, setBaseUrl, type Fault } from '../fault.ts'
import { ownAddress, readObject, type Check } from '../move.ts'
import type { Target } from '../target.ts'
import { elsewhere } from './challenge.ts'

const update = 'Update the gateway, or remove what rewrites its answers from the proxy.'

/** RFC 7591: 201 with an id and what was registered, in the client's own words. */
export const isRegistered: Check = (answer) => {
  const { status } = answer
  const told = readObject(answer)
  if ((status !== 201 && status !== 200) || typeof told?.['client_id'] !== 'string') {
    const words = reasonIn(answer)
    return {
      code: 'registration_refused',
      text: `A registration is answered ${status}${words}.`,
      remedy:
        status === 404 || status === 405
          ? `What is advertised has to be reachable. ${passAllPaths}`
          : 'Update the gateway; where a firewall looks into bodies, let /oauth/register pass.',
    }
  }
  const empty = Object.keys(told).find((name) => told[name] === null)
  if (empty === undefined) return undefined
  return {
    code: 'registration_null',
    text: `The registration is answered with ${empty}: null, which Claude refuses.`,
    remedy: update,
  }
}

/** The redirect addresses come back as they were sent. */
export const keepsRedirects: Check = (answer, { client }) => {
  const { redirect_uris: kept } = readObject(answer)!
  const sent = client.registration.redirect_uris
  const isSame =
    Array.isArray(kept) && kept.length === sent.length && sent.every((one) => kept.includes(one))
  if (isSame) return undefined
  return {
    code: 'redirects_changed',
    text: `A registration of ${sent.length} redirect addresses is answered with ${quoted(kept)}.`,
    remedy: update,
  }
}

/** The browser is sent to a page of this origin, or shown one, with a cookie that binds it. */
export const leadsToSignIn: Check = (answer, known) => {
  const { status, headers } = answer
  const { target } = known
  const location = URL.parse(headers['location'] ?? '', target.origin)
  if (status < 300 || status >= 400 || location === null) {
    return {
      code: 'sign_in_refused',
      text: `The sign-in is opened, and is answered ${status}${reasonIn(answer)}.`,
      remedy: `${passAllPaths} ${update}`,
    }
  }
  const refusal = location.searchParams.get('error')
  if (refusal !== null) {
    const why = location.searchParams.get('error_description') ?? refusal
    return {
      code: 'sign_in_refused',
      text: `The sign-in is opened, and the client is sent back with ${quoted(why)}.`,
      remedy: setBaseUrl(target.origin),
    }
  }
  const wrong = elsewhere(location, {
    what: 'The sign-in',
    code: 'sign_in',
    origin: target.origin,
  })
  return wrong ?? cookieFault(headers['set-cookie'])
}

/** The same, where the client is known by the address of its document. */
export const leadsByDocument: Check = (answer, known) => {
  const fault = leadsToSignIn(answer, known)
  const { url } = known.client.document!
  if (fault?.code !== 'sign_in_refused') return fault
  return {
    code: 'document_refused',
    text: `A sign-in with the document ${url} is not taken: the gateway cannot fetch it, or refuses it.`,
    remedy: `Let the gateway fetch from ${new URL(url).origin} (https, port 443), or set CLIENT_DOCUMENTS=closed, so that clients register.`,
  }
}

/** What went wrong by the body of an error: of RFC 6749, or of the gateway's own. */
function reasonIn(answer: Answer): string {
  const { error, error_description: text } = readObject(answer) ?? {}
  const message = (error as { message?: unknown } | undefined)?.message
  const why = text ?? message ?? error
  return why === undefined ? '' : `: ${quoted(why)}`
}

function cookieFault(cookies: string | undefined): Fault | undefined {
  if (cookies !== undefined) return undefined
  return {
    code: 'cookies_stripped',
    text: 'The sign-in sets no cookie, so that the page cannot tell whose browser it is.',
    remedy:
      'Have the proxy pass Set-Cookie and Cookie for /oauth/: no `proxy_hide_header Set-Cookie`, no cache before it.',
  }
}

/** The page itself comes. */
export const isPage: Check = (answer, { asked }) => {
  const { status, headers } = answer
  if (status === 200 && /^text\/html/i.test(headers['content-type'] ?? '')) return undefined
  return {
    code: 'page_missing',
    text: `${asked}, where people sign in, is answered ${status}${reasonIn(answer)}.`,
    remedy: `${passAllPaths} Cookies have to reach it too.`,
  }
}

/** A code that nobody gave out is refused as RFC 6749 section 5.2 says. */
export const refusesUnknownCode: Check = (answer, { asked }) => {
  const { status } = answer
  const error = readObject(answer)?.['error']
  if (error === 'invalid_grant' && status === 400) return undefined
  return {
    code: 'token_refusal',
    text: `${asked} with a made-up code is answered ${status}${error === undefined ? '' : ` ${quoted(error)}`}, not 400 with invalid_grant: clients do not get tokens there.`,
    remedy: `${passAllPaths} Where a firewall looks into forms, let /oauth/token pass.`,
  }
}

/** Where a right answer of the sign-in leads. */
export function signInPage(
  headers: Readonly<Record<string, string>>,
  target: Target,
): { url: URL; cookie: string } | undefined {
  const url = URL.parse(headers['location'] ?? '', target.origin)
  if (url === null || ownAddress(url.href, target) === undefined) return undefined
  return { url, cookie: cookiesOf(headers['set-cookie'] ?? '') }
}

/** The pairs of cookies that were set, as a browser sends them back. */
function cookiesOf(set: string): string {
  // Between cookies is a comma behind which a pair begins; within dates one behind which none does.
  return set
    .split(/,\s*(?=[\w.-]+=)/)
    .map((cookie) => cookie.split(';', 1)[0]!)
    .join('; ')
}
