import {
  onPath,
  plainAt,
  withoutHeader,
  withoutAnswerHeader,
  rewritten,
  refusing,
  type SeededFault,
} from './seeded-fault.ts'

/** Faults that prevent people from signing in. */
export const signInFaults: readonly SeededFault[] = [
  {
    wrong: 'the advertised registration endpoint is missing',
    code: 'registration_refused',
    says: /registration is answered 404/,
    remedy: /registration_endpoint in the metadata has to be reachable/,
    script: plainAt(/^\/oauth\/register/, 404),
  },
  {
    wrong: 'private schemes in redirect addresses are refused',
    code: 'registration_refused',
    says: /registration is answered 400: 'Not this one\.'/,
    remedy: /Update/,
    script: refusing(/cursor:/),
    whom: ['Cursor'],
  },
  {
    wrong: 'loopback without a port is refused',
    code: 'registration_refused',
    says: /registration is answered 400/,
    remedy: /Update/,
    script: refusing(/127\.0\.0\.1\//),
    whom: ['VS Code'],
  },
  {
    wrong: 'a registration is answered with null',
    code: 'registration_null',
    says: /logo_uri: null, which Claude refuses/,
    remedy: /Update/,
    script: rewritten(/^\/oauth\/register/, (json) => (json['logo_uri'] = null)),
  },
  {
    wrong: 'redirect addresses are rewritten',
    code: 'redirects_changed',
    says: /registration of 1 redirect addresses lists different addresses/,
    remedy: /Update/,
    script: rewritten(/^\/oauth\/register/, (json) => (json['redirect_uris'] = [])),
  },
  {
    wrong: 'ports of loopback addresses have to be the same',
    code: 'sign_in_refused',
    says: /authorization request is answered 400: 'redirect_uri did not match'/,
    remedy: /Update/,
    script: {
      instead: ({ url = '' }, response) => {
        if (!url.startsWith('/oauth/authorize') || !url.includes('127.0.0.1%3A51763')) return false
        const error = {
          error: 'invalid_redirect_uri',
          error_description: 'redirect_uri did not match',
        }
        response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(error))
        return true
      },
    },
    whom: ['VS Code'],
  },
  {
    wrong: 'the gateway cannot fetch documents',
    code: 'document_refused',
    says: /metadata document is https:\/\/vscode\.dev\/oauth\/client-metadata\.json: it cannot fetch/,
    remedy: /CLIENT_DOCUMENTS=closed/,
    script: plainAt(/client_id=https.*vscode/, 400),
    whom: ['VS Code'],
  },
  {
    wrong: 'the sign-in page is on an internal host',
    code: 'sign_in_other_host',
    says: /The redirect to the sign-in page names 'http:\/\/inside:8080'/,
    remedy: /BASE_URL/,
    script: {
      head: ({ headers }, request) =>
        onPath(
          /^\/oauth\/authorize/,
          () => void (headers['location'] = 'http://inside:8080/oauth/interaction/one'),
          request,
        ),
    },
  },
  {
    wrong: 'cookies are stripped from answers',
    code: 'cookies_stripped',
    says: /sets no cookie/,
    remedy: /Set-Cookie/,
    script: withoutAnswerHeader('set-cookie'),
  },
  {
    wrong: 'cookies are stripped from requests',
    code: 'page_missing',
    says: /GET \/oauth\/interaction\/\S+, the sign-in page, is answered 4\d\d/,
    remedy: /Pass cookies too/,
    script: withoutHeader('cookie'),
  },
  {
    wrong: 'the token endpoint is not proxied',
    code: 'token_refusal',
    says: /POST \/oauth\/token with a made-up code is answered 404/,
    remedy: /Pass all paths/,
    script: plainAt(/^\/oauth\/token/, 404),
  },
]
