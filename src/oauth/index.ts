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
import type { Interactions, PageCall } from './interactions.ts'
import {
  endpoints,
  interactionPath,
  openIdConfiguration,
  resourceMetadata,
  serverMetadata,
  type ClientRules,
} from './metadata.ts'
import { answerInteraction, type AnswerOptions } from './pages/answer-interaction.ts'
import { interactionErrorAnswer } from './pages/end-pages.ts'
import { showInteraction } from './pages/interaction-pages.ts'
import { authorizationParameters, tokenParameters } from './parameters.ts'
import { assertPresentedKey, clientWithSecret } from './presented-credentials.ts'
import { noteRefusal } from './refused-clients.ts'
import type { OidcRequest } from './serve-oidc.ts'

type OAuthId = OperationIdOf<'client'>

type Options = {
  rules: ClientRules
  publicOrigin: PublicOrigin
  /** The audience of access tokens. */
  audience: string
  store: ArtifactStore
  /** The gateway's keys; a new object after a change. */
  readKeys: () => Promise<OAuthKeys>
  matchesSecret: (secret: string, digests: string) => boolean
  fetchPublic: FetchPublic
  identify: Identify
  /** Counts a registration from an origin. Throws `rate_limit_exceeded`. */
  countRegistration: (origin: string) => Promise<void>
  /** Slows down guessing of client secrets. Throws `rate_limit_exceeded`. */
  clientAttempts: {
    begin(attempt: {
      origin: string
      clientId: string
    }): Promise<(isClient: boolean | undefined) => void>
  }
  pages: Omit<AnswerOptions, 'interactions'>
  limits: DocumentLimits
  onFault: (error: unknown) => void
  connectionLog: Pick<ConnectionLog, 'refused'>
}

export type OAuthServer = {
  operations: Pick<Operations, OAuthId>
  errorAnswer: ErrorAnswer
}

/**
 * The paths that pages of every origin may use: clients that run in browsers discover the server,
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
 * The gateway as an OAuth authorization server (docs/oauth.md): oidc-provider behind the contract's
 * paths. It is loaded with the first request that needs it, since most gateways have no sign-ins.
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
  const serve = async (call: Call, asked: OidcRequest) => {
    const { serveOidc, providerAt, asker } = await loaded()
    const provider = await providerAt(publicOrigin(call.request))
    const origin = originOf(call.addressOf(call.request))
    await asker.run(origin, () => serveOidc(provider, call, asked))
    return undefined
  }
  const authorize = (call: Call, given: string) => {
    const origin = publicOrigin(call.request)
    const meant = authorizationParameters(new URLSearchParams(given), origin)
    return serve(call, { method: 'GET', path: `${endpoints.authorization}?${String(meant)}` })
  }
  const post = clientForms(options.clientAttempts, serve)
  const interactions = lazyInteractions(async () => (await loaded()).interactions)
  const pages = { ...options.pages, interactions }
  return {
    operations: {
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
        const meant = tokenParameters(formOf(call), publicOrigin(call.request))
        return post(call, endpoints.token, meant)
      },
      registerClient: async (call) => {
        await assertPresentedKey(call.request, options.identify)
        if (!rules.registration) throw closed()
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
      if (error instanceof OAuthRefusal) noteRefusal(options.connectionLog, error, refused)
      return refused.request.url?.startsWith(interactionPath) === true
        ? interactionErrorAnswer(error, refused)
        : oauthErrorAnswer(error, refused)
    },
  }
}

/** Loads oidc-provider once; a failure is tried again with the next request. */
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
  // oidc-provider does not pass the request on to `fetch`.
  const asker = new AsyncLocalStorage<string>()
  const askedFrom = () => asker.getStore() ?? ''
  const documents = createClientDocuments({ fetchPublic, askedFrom, limits })
  const providers = new Map<string, Provider>()
  let keys: OAuthKeys | undefined
  /** The provider of this issuer; without a public origin each name of this machine is an issuer. */
  const providerAt = async (origin: string): Promise<Provider> => {
    const inForce = await readKeys()
    if (inForce !== keys) providers.clear()
    keys = inForce
    const known = providers.get(origin)
    if (known !== undefined) return known
    const [oldest] = providers.keys()
    if (providers.size >= originsMax && oldest !== undefined) providers.delete(oldest)
    const made = createProvider({ ...rest, origin, keys: inForce, documents })
    providers.set(origin, made)
    return made
  }
  const interactions = createInteractions(
    async (request: IncomingMessage) => providerAt(publicOrigin(request)),
    asker,
    rest.store,
  )
  return { providerAt, serveOidc, interactions, asker }
}

const originsMax = 8

function lazyInteractions(find: () => Promise<Interactions>): Interactions {
  return {
    look: async (call: PageCall) => (await find()).look(call),
    approve: async (call: PageCall, grantId) => (await find()).approve(call, grantId),
    refuse: async (call: PageCall) => (await find()).refuse(call),
  }
}

/** Serves the forms of clients, and counts attempts with a client secret. */
function clientForms(
  attempts: Options['clientAttempts'],
  serve: (call: Call, asked: OidcRequest) => Promise<undefined>,
) {
  return async (call: Call, path: string, given: URLSearchParams) => {
    const clientId = clientWithSecret(call.request, given)
    const asked: OidcRequest = { method: 'POST', path, body: form(String(given)) }
    if (clientId === undefined) return serve(call, asked)
    const origin = originOf(call.addressOf(call.request))
    const tried = await attempts.begin({ origin, clientId })
    let isClient: boolean | undefined
    try {
      await serve(call, asked)
      const { statusCode } = call.response
      // Other errors may precede the check of the secret.
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

function closed(): GatewayError {
  const text = 'Clients do not register themselves here. Ask who runs the gateway for a client.'
  return new GatewayError('not_found', text)
}
