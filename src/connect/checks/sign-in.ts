import type { Answer } from '../ask.ts'
import { passAllPathsRemedy, quoted, setBaseUrl, updateRemedy, type Fault } from '../fault.ts'
import { ownAddress, readObject, type Check } from '../step.ts'
import type { Target } from '../target.ts'
import { otherOriginFault } from './challenge.ts'

/** Checks for a 201 with the `client_id` and the registered metadata (RFC 7591 section 3.2.1). */
export const isRegistered: Check = (answer) => {
  const { status } = answer
  const registered = readObject(answer)
  if ((status !== 201 && status !== 200) || typeof registered?.['client_id'] !== 'string') {
    const words = reasonIn(answer)
    return {
      code: 'registration_refused',
      text: `A registration is answered ${status}${words}.`,
      remedy:
        status === 404 || status === 405
          ? `The registration_endpoint in the metadata has to be reachable. ${passAllPathsRemedy}`
          : 'Update the gateway; if a firewall inspects bodies, exempt /oauth/register.',
    }
  }
  const empty = Object.keys(registered).find((name) => registered[name] === null)
  if (empty === undefined) return undefined
  return {
    code: 'registration_null',
    text: `The answer to a registration has ${empty}: null, which Claude refuses.`,
    remedy: updateRemedy,
  }
}

/** Checks that the answer contains the redirect addresses that the client sent. */
export const keepsRedirects: Check = (answer, { client }) => {
  const { redirect_uris: kept } = readObject(answer)!
  const sent = client.registration.redirect_uris
  const isSame =
    Array.isArray(kept) && kept.length === sent.length && sent.every((one) => kept.includes(one))
  if (isSame) return undefined
  return {
    code: 'redirects_changed',
    text: `The answer to a registration of ${sent.length} redirect addresses lists different addresses: ${quoted(kept)}.`,
    remedy: updateRemedy,
  }
}

/** Checks for a redirect to a page on this origin, with a cookie that binds the sign-in to the browser. */
export const reachesSignIn: Check = (answer, state) => {
  const { status, headers } = answer
  const { target } = state
  const location = URL.parse(headers['location'] ?? '', target.origin)
  if (status < 300 || status >= 400 || location === null) {
    return {
      code: 'sign_in_refused',
      text: `An authorization request is answered ${status}${reasonIn(answer)}.`,
      remedy: `${passAllPathsRemedy} ${updateRemedy}`,
    }
  }
  const refusal = location.searchParams.get('error')
  if (refusal !== null) {
    const why = location.searchParams.get('error_description') ?? refusal
    return {
      code: 'sign_in_refused',
      text: `An authorization request is sent back to the client with the error ${quoted(why)}.`,
      remedy: setBaseUrl(target.origin),
    }
  }
  const wrong = otherOriginFault(location, {
    what: 'The redirect to the sign-in page',
    code: 'sign_in',
    origin: target.origin,
  })
  return wrong ?? cookieFault(headers['set-cookie'])
}

/** The check `reachesSignIn` for a client whose `client_id` is the address of its metadata document. */
export const reachesSignInByDocument: Check = (answer, state) => {
  const fault = reachesSignIn(answer, state)
  const { url } = state.client.document!
  if (fault?.code !== 'sign_in_refused') return fault
  return {
    code: 'document_refused',
    text: `The gateway refuses sign-ins by the client whose metadata document is ${url}: it cannot fetch this document, or rejects it.`,
    remedy: `Allow the gateway outbound connections to ${new URL(url).origin} (port 443), or set CLIENT_DOCUMENTS=closed, so that clients register.`,
  }
}

/** The message in the body of an error, in the format of RFC 6749 or of the gateway. */
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
    text: 'The redirect to the sign-in page sets no cookie, so the page cannot recognize the browser.',
    remedy:
      'Configure the proxy to pass Set-Cookie and Cookie for /oauth/: no `proxy_hide_header Set-Cookie`, and no cache.',
  }
}

/** Checks that the sign-in page is an HTML page. */
export const isPage: Check = (answer, { request }) => {
  const { status, headers } = answer
  if (status === 200 && /^text\/html/i.test(headers['content-type'] ?? '')) return undefined
  return {
    code: 'page_missing',
    text: `${request}, the sign-in page, is answered ${status}${reasonIn(answer)}.`,
    remedy: `${passAllPathsRemedy} Pass cookies too.`,
  }
}

/** Checks that a made-up code is refused with `invalid_grant` (RFC 6749 section 5.2). */
export const refusesUnknownCode: Check = (answer, { request }) => {
  const { status } = answer
  const error = readObject(answer)?.['error']
  if (error === 'invalid_grant' && status === 400) return undefined
  return {
    code: 'token_refusal',
    text: `${request} with a made-up code is answered ${status}${error === undefined ? '' : ` ${quoted(error)}`} instead of 400 with invalid_grant: clients cannot get tokens.`,
    remedy: `${passAllPathsRemedy} If a firewall inspects forms, exempt /oauth/token.`,
  }
}

/** The sign-in page that an authorization request redirects to, on the checked origin. */
export function signInPage(
  headers: Readonly<Record<string, string>>,
  target: Target,
): { url: URL; cookie: string } | undefined {
  const url = URL.parse(headers['location'] ?? '', target.origin)
  if (url === null || ownAddress(url.href, target) === undefined) return undefined
  return { url, cookie: cookiesOf(headers['set-cookie'] ?? '') }
}

/** The header `Cookie` for these `Set-Cookie` headers, which are joined by commas. */
function cookiesOf(set: string): string {
  // A comma before a `name=` separates cookies; other commas are within dates.
  return set
    .split(/,\s*(?=[\w.-]+=)/)
    .map((cookie) => cookie.split(';', 1)[0]!)
    .join('; ')
}
