import type { Answer } from '../ask.ts'
import { quoted, setBaseUrl, type Fault } from '../fault.ts'
import type { ClientState } from '../step.ts'

/** The `resource_metadata` address in a challenge (RFC 9728 section 5.1). */
export function announcedMetadata({ headers }: Answer): string | undefined {
  return /\bresource_metadata="([^"]*)"/.exec(headers['www-authenticate'] ?? '')?.[1]
}

/** Checks that a request without credentials gets a 401 with a Bearer challenge. */
export function isChallenge(answer: Answer, { request }: ClientState): Fault | undefined {
  const { status, headers } = answer
  const challenge = headers['www-authenticate']
  if (status !== 401) {
    return {
      code: 'not_challenged',
      text: `${request} without credentials is answered ${status} instead of 401, so clients never start to sign in.`,
      remedy:
        'Configure the proxy to pass every method of /mcp unchanged: the gateway answers 401 to each without credentials.',
    }
  }
  if (challenge === undefined) {
    return {
      code: 'challenge_missing',
      text: `The 401 to ${request} has no WWW-Authenticate; ChatGPT then reports that the server does not implement OAuth.`,
      remedy:
        'The gateway sends it, and the proxy removes it: delete nginx `proxy_hide_header WWW-Authenticate` and `proxy_intercept_errors`.',
    }
  }
  if (!/^Bearer\s/i.test(challenge)) {
    return {
      code: 'challenge_of_proxy',
      text: `The WWW-Authenticate of the 401 to ${request} begins with ${quoted(challenge.split(/[\s,]/, 1)[0])} instead of Bearer.`,
      remedy:
        'Disable the sign-in of the proxy (nginx `auth_basic`, Caddy `basic_auth`) for /mcp, /oauth/ and /.well-known/.',
    }
  }
  return undefined
}

/** Checks that the challenge names metadata on the same origin. */
export function challengeNamesMetadata(answer: Answer, { target }: ClientState): Fault | undefined {
  const announced = announcedMetadata(answer)
  if (announced === undefined) {
    return {
      code: 'challenge_without_metadata',
      text: 'The challenge has no resource_metadata, so clients cannot find the authorization server.',
      remedy: 'Update the gateway, or delete the rule of the proxy that rewrites WWW-Authenticate.',
    }
  }
  const url = URL.parse(announced)
  if (url === null) {
    return {
      code: 'challenge_relative',
      text: `The challenge names ${quoted(announced)}, which is not an absolute address.`,
      remedy: setBaseUrl(target.origin),
    }
  }
  return otherOriginFault(url, { what: 'The challenge', code: 'challenge', origin: target.origin })
}

type Named = { what: string; code: string; origin: string }

/** The fault of an address on another origin than the checked one: BASE_URL is wrong. */
export function otherOriginFault(url: URL, { what, code, origin }: Named): Fault | undefined {
  if (url.origin === origin) return undefined
  const isScheme = url.host === new URL(origin).host
  return {
    code: isScheme ? `${code}_other_scheme` : `${code}_other_host`,
    text: isScheme
      ? `${what} names ${url.protocol}//, but clients connect over ${new URL(origin).protocol}//.`
      : `${what} names ${quoted(url.origin)}, but clients connect to ${origin}.`,
    remedy: setBaseUrl(origin),
  }
}

/** The gateway rejects a made-up key, which shows that it received the header. */
export function acceptsHeader(answer: Answer, header: string): Fault | undefined {
  if (
    answer.status === 401 &&
    /error="invalid_token"/.test(answer.headers['www-authenticate'] ?? '')
  ) {
    return undefined
  }
  const isAuthorization = header === 'authorization'
  return {
    code: isAuthorization ? 'authorization_stripped' : 'api_key_stripped',
    text: `A made-up key in the header ${header} is not rejected as invalid: the gateway does not receive the header.`,
    remedy: isAuthorization
      ? 'Configure the proxy to pass it: nginx without `proxy_set_header Authorization` and `auth_basic`; Apache with `CGIPassAuth On`.'
      : 'Configure the proxy to pass x-api-key unchanged: no `proxy_set_header X-Api-Key`, and no rule that removes unknown headers.',
  }
}
