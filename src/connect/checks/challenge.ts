import type { Answer } from '../ask.ts'
import { quoted, setBaseUrl, type Fault } from '../fault.ts'
import type { Known } from '../move.ts'

/** Where a challenge says that the metadata of RFC 9728 is. */
export function announcedMetadata({ headers }: Answer): string | undefined {
  return /\bresource_metadata="([^"]*)"/.exec(headers['www-authenticate'] ?? '')?.[1]
}

/** Without credentials each request to the tool server is a 401 with a challenge. */
export function isChallenge(answer: Answer, { asked }: Known): Fault | undefined {
  const { status, headers } = answer
  const challenge = headers['www-authenticate']
  if (status !== 401) {
    return {
      code: 'not_challenged',
      text: `${asked} without credentials is answered ${status} and not 401, so that clients never begin to sign in.`,
      remedy:
        'Have the proxy pass every method of /mcp as it is; the gateway asks for credentials before anything else.',
    }
  }
  if (challenge === undefined) {
    return {
      code: 'challenge_missing',
      text: `The 401 to ${asked} has no WWW-Authenticate; ChatGPT says that the server does not implement OAuth.`,
      remedy:
        'The gateway sends it: remove what strips it from the proxy (nginx `proxy_hide_header WWW-Authenticate`, `proxy_intercept_errors`).',
    }
  }
  if (!/^Bearer\s/i.test(challenge)) {
    return {
      code: 'challenge_of_proxy',
      text: `The 401 to ${asked} asks for ${quoted(challenge.split(/[\s,]/, 1)[0])}, not for Bearer first.`,
      remedy:
        'Take the sign-in of the proxy (nginx `auth_basic`, Caddy `basic_auth`) away from /mcp, /oauth/ and /.well-known/.',
    }
  }
  return undefined
}

/** The challenge leads to metadata on the same origin. */
export function leadsToMetadata(answer: Answer, { target }: Known): Fault | undefined {
  const announced = announcedMetadata(answer)
  if (announced === undefined) {
    return {
      code: 'challenge_without_metadata',
      text: 'The challenge has no resource_metadata, so that clients do not find where to sign in.',
      remedy: 'Update the gateway, or remove what rewrites WWW-Authenticate in the proxy.',
    }
  }
  const url = URL.parse(announced)
  if (url === null) {
    return {
      code: 'challenge_relative',
      text: `The challenge names ${quoted(announced)}, which is no whole address.`,
      remedy: setBaseUrl(target.origin),
    }
  }
  return elsewhere(url, { what: 'The challenge', code: 'challenge', origin: target.origin })
}

type Named = { what: string; code: string; origin: string }

/** Whether an address is on another origin than the one that was typed: a wrong BASE_URL. */
export function elsewhere(url: URL, { what, code, origin }: Named): Fault | undefined {
  if (url.origin === origin) return undefined
  const isScheme = url.host === new URL(origin).host
  return {
    code: isScheme ? `${code}_other_scheme` : `${code}_other_host`,
    text: isScheme
      ? `${what} names ${url.protocol}//, while clients come over ${new URL(origin).protocol}//.`
      : `${what} names ${quoted(url.origin)}, while clients come to ${origin}.`,
    remedy: setBaseUrl(origin),
  }
}

/** A made-up key is told to be wrong, so it arrived. */
export function sawCredentials(answer: Answer, header: string): Fault | undefined {
  if (
    answer.status === 401 &&
    /error="invalid_token"/.test(answer.headers['www-authenticate'] ?? '')
  ) {
    return undefined
  }
  const isAuthorization = header === 'authorization'
  return {
    code: isAuthorization ? 'authorization_stripped' : 'api_key_stripped',
    text: `A made-up key in the header ${header} is not told to be wrong: the header does not arrive at the gateway.`,
    remedy: isAuthorization
      ? 'Have the proxy pass it: no `proxy_set_header Authorization`, no `auth_basic` at nginx; `CGIPassAuth On` at Apache.'
      : 'Have the proxy pass x-api-key as it is: no `proxy_set_header X-Api-Key`, and no rule that removes unknown headers.',
  }
}
