import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage } from 'node:http'
import type { Provider } from 'oidc-provider'
import type { OperationIdOf } from '../../generated/operations.ts'
import type { Identify } from '../core/caller.ts'
import type { ConnectionLog } from '../core/connection-log.ts'
import { GatewayError } from '../core/error.ts'
import { originOf } from '../core/networks.ts'
import type { Answer } from '../http/answer.ts'
import type { Operations } from '../http/contract-router.ts'
import type { ErrorAnswer } from '../http/error-answer.ts'
import type { OperationCall } from '../http/operation.ts'
import { parseBody } from '../http/parse-json.ts'
import type { PublicOrigin } from '../http/public-origin.ts'
import type { ArtifactStore, OAuthKeys } from './artifacts.ts'
import { createClientDocuments, type DocumentLimits, type FetchPublic } from './client-document.ts'
import { clientMetadata } from './client-metadata.ts'
import { oauthErrorAnswer, OAuthRefusal } from './error-answer.ts'
import {
  accessTokenPrefix,
  endpoints,
  interactionPath,
  openIdConfiguration,
  resourceMetadata,
  serverMetadata,
  signInPath,
  type ClientRules,
} from './metadata.ts'
import { answerInteraction, type AnswerOptions } from './pages/answer-interaction.ts'
import { oidcErrorAnswer, oidcSignInOperations, type OidcSignInOptions } from './oidc-sign-in.ts'
import { interactionErrorAnswer } from './pages/end-pages.ts'
import { showInteraction } from './pages/interaction-pages.ts'
import { authorizationParameters, tokenParameters } from './parameters.ts'
import { logRefusal } from './refused-clients.ts'
import type { OidcRequest } from './serve-oidc.ts'

type OAuthId = OperationIdOf<'client'>

type Options = {
  rules: ClientRules
  publicOrigin: PublicOrigin
  /** The audience of access tokens. */
  audience: string
  store: ArtifactStore
  /** Reads the gateway's keys; the object is a new one after a change. */
  readKeys: () => Promise<OAuthKeys>
  matchesSecret: (secret: string, digests: string) => boolean
  fetchPublic: FetchPublic
  identify: Identify
  /** Counts a registration from an address or network. Throws `rate_limit_exceeded`. */
  countRegistration: (origin: string) => Promise<void>
  /** Slows down guessing of client secrets. Throws `rate_limit_exceeded`. */
  clientAttempts: {
    begin(attempt: {
      origin: string
      clientId: string
    }): Promise<(isClient: boolean | undefined) => void>
  }
  pages: Omit<AnswerOptions, 'interactions'>
  signIn: Omit<OidcSignInOptions, 'publicOrigin'>
  limits: DocumentLimits
  onFault: (error: unknown) => void
  connectionLog: Pick<ConnectionLog, 'refused'>
}

export type OAuthServer = {
  operations: Pick<Operations, OAuthId>
  errorAnswer: ErrorAnswer
}

/**
 * The paths that pages of any origin may call: clients that run in browsers discover the server,
 * register and exchange tokens. None of them reads a cookie.
 */
export const crossOriginPaths: readonly string[] = [
  '/.well-known/',
  endpoints.token,
  endpoints.registration,
  endpoints.revocation,
  endpoints.introspection,
  endpoints.jwks,
  '/token',
  '/register',
]

type Call = Pick<OperationCall<OAuthId>, 'request' | 'response' | 'requestId' | 'addressOf'>

/**
 * The gateway as an OAuth authorization server (docs/oauth.md): oidc-provider serves the contract's
 * paths. oidc-provider is loaded on the first request that needs it, since most gateways have no
 * sign-ins.
 */
export function createOAuthServer(options: Options): OAuthServer {
  const { rules, publicOrigin } = options
  const loaded = loadOnce(options)
  const metadata = (make: (origin: string, rules: ClientRules) => object) => {
    return async ({ request }: Call): Promise<Answer> => ({
      status: 200,
      headers: { 'cache-control': 'no-cache' },
      json: make(publicOrigin(request), rules),
    })
  }
  const serve = async (call: Call, oidcRequest: OidcRequest) => {
    const { serveOidc, providerAt, senderStore } = await loaded()
    const provider = await providerAt(publicOrigin(call.request))
    const origin = originOf(call.addressOf(call.request))
    await senderStore.run(origin, () => serveOidc(provider, call, oidcRequest))
    return undefined
  }
  const authorize = (call: Call, query: string) => {
    const origin = publicOrigin(call.request)
    const corrected = authorizationParameters(new URLSearchParams(query), origin)
    return serve(call, { method: 'GET', path: `${endpoints.authorization}?${String(corrected)}` })
  }
  const post = clientForms(options.clientAttempts, serve)
  const pages = { ...options.pages, interactions: async () => (await loaded()).interactions }
  return {
    operations: {
      ...oidcSignInOperations({ ...options.signIn, publicOrigin }),
      showInteraction: showInteraction(pages),
      answerInteraction: answerInteraction(pages),
      retrieveResourceMetadata: metadata(resourceMetadata),
      retrieveServerMetadata: metadata(serverMetadata),
      retrieveOpenIdConfiguration: metadata(openIdConfiguration),
      authorize: async (call) => authorize(call, queryOf(call.request)),
      authorizeByForm: async (call) => authorize(call, call.body.toString()),
      resumeAuthorization: async (call) =>
        serve(call, {
          method: 'GET',
          path: `${endpoints.authorization}/${encodeURIComponent(call.path.uid)}`,
        }),
      createToken: async (call) => {
        const corrected = tokenParameters(formOf(call), publicOrigin(call.request))
        return post(call, endpoints.token, corrected)
      },
      registerClient: async (call) => {
        await assertPresentedKey(call.request, options.identify)
        if (!rules.registration) {
          const text =
            'Client registration is disabled. Ask the operator of the gateway for a client.'
          throw new GatewayError('not_found', text)
        }
        const metadataOf = clientMetadata(parseBody(call.body))
        await options.countRegistration(originOf(call.addressOf(call.request)))
        const text = JSON.stringify(metadataOf)
        const body = { type: 'application/json', text }
        return serve(call, { method: 'POST', path: endpoints.registration, body })
      },
      revokeToken: async (call) => post(call, endpoints.revocation, formOf(call)),
      introspectToken: async (call) => post(call, endpoints.introspection, formOf(call)),
      listSigningKeys: async (call) => serve(call, { method: 'GET', path: endpoints.jwks }),
    },
    errorAnswer: (error, refused) => {
      if (error instanceof OAuthRefusal) logRefusal(options.connectionLog, error, refused)
      const { url = '' } = refused.request
      if (url.startsWith(signInPath)) return oidcErrorAnswer(error, refused)
      return url.startsWith(interactionPath)
        ? interactionErrorAnswer(error, refused)
        : oauthErrorAnswer(error, refused)
    },
  }
}

/** Loads oidc-provider once; after a failure the next request loads it again. */
function loadOnce(options: Options) {
  let loading: ReturnType<typeof load> | undefined
  return () => {
    loading ??= load(options).catch((error: unknown) => {
      loading = undefined
      throw error
    })
    return loading
  }
}

async function load({ publicOrigin, readKeys, fetchPublic, limits, ...rest }: Options) {
  const [{ createProvider }, { serveOidc }, { createInteractions }] = await Promise.all([
    import('./provider.ts'),
    import('./serve-oidc.ts'),
    import('./interactions.ts'),
  ])
  // Keeps the sender of the request for `fetch`, to which oidc-provider does not pass the request.
  const senderStore = new AsyncLocalStorage<string>()
  const askedFrom = () => senderStore.getStore() ?? ''
  const documents = createClientDocuments({ fetchPublic, askedFrom, limits })
  const providers = new Map<string, Provider>()
  let keys: OAuthKeys | undefined
  /** The provider for an issuer; without BASE_URL each host name of this machine is an issuer. */
  const providerAt = async (origin: string): Promise<Provider> => {
    const current = await readKeys()
    if (current !== keys) providers.clear()
    keys = current
    const cached = providers.get(origin)
    if (cached !== undefined) return cached
    const [oldest] = providers.keys()
    if (providers.size >= originsMax && oldest !== undefined) providers.delete(oldest)
    const provider = createProvider({ ...rest, origin, keys: current, documents })
    providers.set(origin, provider)
    return provider
  }
  const interactions = createInteractions(
    async (request: IncomingMessage) => providerAt(publicOrigin(request)),
    senderStore,
    rest.store,
  )
  return { providerAt, serveOidc, interactions, senderStore }
}

const originsMax = 8

/** Serves the forms of clients, and counts attempts with a client secret. */
function clientForms(
  attempts: Options['clientAttempts'],
  serve: (call: Call, oidcRequest: OidcRequest) => Promise<undefined>,
) {
  return async (call: Call, path: string, original: URLSearchParams) => {
    const clientId = clientWithSecret(call.request, original)
    const oidcRequest: OidcRequest = { method: 'POST', path, body: form(String(original)) }
    if (clientId === undefined) return serve(call, oidcRequest)
    const origin = originOf(call.addressOf(call.request))
    const tried = await attempts.begin({ origin, clientId })
    let isClient: boolean | undefined
    try {
      await serve(call, oidcRequest)
      const { statusCode } = call.response
      // Other errors may occur before the secret is checked.
      if (statusCode === 200 || statusCode === 401) isClient = statusCode === 200
    } finally {
      tried(isClient)
    }
    return undefined
  }
}

function formOf({ body }: { body: Buffer }): URLSearchParams {
  return new URLSearchParams(body.toString())
}

function form(text: string): NonNullable<OidcRequest['body']> {
  return { type: 'application/x-www-form-urlencoded', text }
}

function queryOf({ url = '' }: IncomingMessage): string {
  const start = url.indexOf('?')
  return start < 0 ? '' : url.slice(start + 1)
}

const bearerKey = new RegExp(`^bearer (?! *${accessTokenPrefix})`, 'i')

/**
 * Refuses a registration with a wrong API key. Clients that support OAuth start a sign-in when `/mcp` answers
 * a wrong key with 401, and show this error to the person. Throws `invalid_api_key` and `expired_api_key`.
 */
async function assertPresentedKey(
  { headers }: Pick<IncomingMessage, 'headers'>,
  identify: Identify,
): Promise<void> {
  const { authorization = '', 'x-api-key': apiKey } = headers
  // Access tokens are not checked: a client that signs in again may still send its expired token.
  if (bearerKey.test(authorization)) {
    await identify({ authorization, apiKey: undefined })
  } else if (typeof apiKey === 'string' && apiKey !== '') {
    await identify({ authorization: undefined, apiKey })
  }
}

/** The id of the client whose secret a request contains; undefined without a readable secret. */
function clientWithSecret(
  { headers: { authorization = '' } }: Pick<IncomingMessage, 'headers'>,
  form: URLSearchParams,
): string | undefined {
  const [, credentials] = /^basic +(\S+)$/i.exec(authorization) ?? []
  if (credentials !== undefined) return idOf(Buffer.from(credentials, 'base64').toString())
  return form.get('client_secret') ? (form.get('client_id') ?? undefined) : undefined
}

/** The id in the credentials of `Basic`, which is form-encoded (RFC 6749 section 2.3.1). */
function idOf(pair: string): string | undefined {
  const end = pair.indexOf(':')
  if (end < 0) return undefined
  return (
    new URLSearchParams(`id=${pair.slice(0, end).replaceAll('&', '%26')}`).get('id') ?? undefined
  )
}
