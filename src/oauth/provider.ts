import { createHmac, randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type Koa from 'koa'
import { Provider, errors, type Configuration, type KoaContextWithOIDC } from 'oidc-provider'
import type { ConnectionLog } from '../core/connection-log.ts'
import { StoreRefusal, type StoreRefusalCode } from '../core/error.ts'
import { adapterOver, type ArtifactStore, type OAuthKeys } from './artifacts.ts'
import type { ClientDocuments } from './client-document.ts'
import { withKeyRemedy } from './error-answer.ts'
import { stopErrorRedirects, showError } from './error-page.ts'
import {
  accessTokenPrefix,
  clientAuthMethods,
  clientSigningAlgorithms,
  endpoints,
  interactionPath,
  interactionSeconds,
  offlineScope,
  resourceAt,
  toolScope,
  type ClientRules,
} from './metadata.ts'
import { isReserved } from './parameters.ts'
import { watchRefusals } from './refused-clients.ts'

type ProviderOptions = {
  /** The issuer, which is the origin of all endpoints. */
  origin: string
  /** The audience of access tokens. */
  audience: string
  rules: ClientRules
  store: ArtifactStore
  keys: OAuthKeys
  /** Whether a secret matches one of the digests in the store. */
  matchesSecret: (secret: string, digests: string) => boolean
  /** Fetches the documents of clients and corrects their metadata. */
  documents: ClientDocuments
  onFault: (error: unknown) => void
  connectionLog: Pick<ConnectionLog, 'refused'>
}

const minuteSeconds = 60
const hourSeconds = 60 * minuteSeconds
const daySeconds = 24 * hourSeconds
/** Lifetimes (docs/oauth.md#how-long-things-hold). */
const seconds = {
  AccessToken: hourSeconds,
  ClientCredentials: hourSeconds,
  AuthorizationCode: minuteSeconds,
  Interaction: interactionSeconds,
  /** Not used: the gateway's own session identifies the person. */
  Session: minuteSeconds,
  /** Lifetime of one refresh token: a refresh issues a new token, so a connection lasts while it is used. */
  RefreshToken: 90 * daySeconds,
  /** Practically unlimited, since a connection ends only when it is revoked. */
  Grant: 100 * 365 * daySeconds,
}

export const cookieNames = {
  interaction: 'gateway_oauth_interaction',
  resume: 'gateway_oauth_resume',
  session: 'gateway_oauth_session',
}

/** Prefixes that distinguish kinds of tokens without a lookup. */
const prefixes = {
  AccessToken: accessTokenPrefix,
  ClientCredentials: accessTokenPrefix,
  RefreshToken: 'mag_refresh_',
  AuthorizationCode: 'mag_code_',
} as const

/** oidc-provider with the gateway's paths, store and rules; without ID tokens. */
export function createProvider(options: ProviderOptions): Provider {
  const { origin, onFault } = options
  const provider = new Provider(origin, configurationOf(options))
  // The gateway sets the headers `host` and `x-forwarded-proto` itself (`serve-oidc.ts`).
  provider.proxy = true
  // oidc-provider's types declare only its own events and not the events of Koa.
  const server: Koa = provider
  server.use(addKeyRemedy)
  server.use(nameForeignGrant)
  server.use(finishExchanges(options.store))
  server.use(stopErrorRedirects(provider, options.store))
  server.on('error', onFault)
  provider.on('server_error', (_context, error) => onFault(error))
  watchRefusals(provider, options.connectionLog)
  for (const [kind, prefix] of Object.entries(prefixes)) addPrefix(provider, kind, prefix)
  repeatSuccessors(provider)
  const { prototype } = provider.Client
  prototype.compareClientSecret = function compare(this: { clientSecret?: string }, actual) {
    return this.clientSecret !== undefined && options.matchesSecret(actual, this.clientSecret)
  }
  return provider
}

/** Adds the remedy of using an API key to oidc-provider's errors. */
const addKeyRemedy: Koa.Middleware = async (context, next) => {
  await next()
  const { status, body } = context as { status: number; body: unknown }
  if (status < 400 || typeof body !== 'object' || body === null) return
  const { error_description: text = '' } = body as { error_description?: string }
  if ('error' in body) context.body = { ...body, error_description: withKeyRemedy(text) }
}

/** Answers a grant type that the client may not use with `unauthorized_client` (RFC 6749 section 5.2). */
const nameForeignGrant: Koa.Middleware = async (context, next) => {
  await next()
  const { oidc, body } = context as unknown as Partial<KoaContextWithOIDC>
  const { error } = (body ?? {}) as { error?: string }
  const grant = oidc?.params?.['grant_type']
  if (error !== 'invalid_request' || oidc?.client === undefined || typeof grant !== 'string') return
  if (oidc.client.grantTypeAllowed(grant)) return
  const error_description = 'The client may not use this grant_type.'
  context.body = { ...(body as object), error: 'unauthorized_client', error_description }
}

/** Time within which concurrent exchanges of one code arrive. */
const sentAtOnceMs = 100

/**
 * Marks a code as exchanged before the answer is sent: a later request with the code is a replay and ends the
 * connection (RFC 6749 section 4.1.2). The answer waits for concurrent exchanges of the code, which are refused
 * without ending the connection.
 */
function finishExchanges(store: Pick<ArtifactStore, 'finishExchange'>): Koa.Middleware {
  return async (context, next) => {
    await next()
    const { oidc } = context as unknown as Partial<KoaContextWithOIDC>
    const code = oidc?.entities.AuthorizationCode
    if (code === undefined || context.status !== 200) return
    await setTimeout(sentAtOnceMs)
    await store.finishExchange(code.jti)
  }
}

/** Adds the prefix to the ids of a kind of token. */
function addPrefix(provider: Provider, kind: string, prefix: string): void {
  // oidc-provider's types omit `generateTokenId`, although its own token formats override the method.
  type Model = { prototype: { generateTokenId(): string } }
  const { prototype } = provider[kind as keyof typeof prefixes] as unknown as Model
  const generate = prototype.generateTokenId
  prototype.generateTokenId = function generatePrefixed() {
    return prefix + generate.call(this)
  }
}

/** A refresh token with the seed of its successor; the seed is random and stored with the token. */
type SeededToken = { jti: string; seed?: string; generateTokenId(): string }

/**
 * Derives the id of a refresh token's successor from the token and its seed, so that a token which is used twice
 * within its grace period has one successor in all processes. A stolen token thus has the same successors as
 * the original, and its use after the grace period is detected as a replay. Neither the token nor the store
 * alone is enough to compute a successor.
 */
function repeatSuccessors({ RefreshToken }: Provider): void {
  // `IN_PAYLOAD` lists the members that are stored; oidc-provider's types omit it.
  type Model = { IN_PAYLOAD: readonly string[]; prototype: SeededToken }
  const model = RefreshToken as unknown as Model
  Object.defineProperty(model, 'IN_PAYLOAD', { value: [...model.IN_PAYLOAD, 'seed'] })
  const generate = model.prototype.generateTokenId
  model.prototype.generateTokenId = function generateSuccessor() {
    this.seed = randomBytes(32).toString('base64url')
    const used = Provider.ctx?.oidc.entities.RotatedRefreshToken as SeededToken | undefined
    if (used === undefined) return generate.call(this)
    const id = createHmac('sha256', used.jti).update(used.seed ?? '')
    return prefixes.RefreshToken + id.digest('base64url')
  }
}

function configurationOf(options: ProviderOptions): Configuration {
  const { store, keys } = options
  return {
    adapter: adapterOver(store, refusalOf),
    // A copy, since oidc-provider's type is a mutable array.
    jwks: { keys: [...keys.signing] },
    cookies: {
      keys: [...keys.cookies],
      names: cookieNames,
      short: { httpOnly: true, sameSite: 'lax', signed: true },
      long: { httpOnly: true, sameSite: 'lax', signed: true },
    },
    routes: endpoints,
    scopes: [toolScope, offlineScope],
    claims: {},
    responseTypes: ['code'],
    clientAuthMethods: [...clientAuthMethods],
    enabledJWA: { clientAuthSigningAlgValues: [...clientSigningAlgorithms] },
    pkce: { required: () => true },
    // A token request must repeat the redirect address (RFC 6749 section 4.1.3).
    allowOmittingSingleRegisteredRedirectUri: false,
    rotateRefreshToken: true,
    // Pages of any origin may call: the contract's router answers preflights, and no cookie identifies
    // a client.
    clientBasedCORS: () => true,
    expiresWithSession: async () => false,
    issueRefreshToken: async (_context, client) => client.grantTypeAllowed('refresh_token'),
    findAccount: async (_context, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
    // Each sign-in asks for consent, even if the browser has an earlier grant.
    loadExistingGrant: async ({ oidc }) => {
      const id = oidc.result?.consent?.grantId
      return id === undefined ? undefined : oidc.provider.Grant.find(id)
    },
    interactions: { url: (_context, { uid }) => interactionPath + uid },
    renderError: showError,
    fetch: options.documents.fetch,
    ttl: seconds,
    features: featuresOf(options),
  }
}

function featuresOf({
  origin,
  audience,
  rules,
  documents,
}: ProviderOptions): NonNullable<Configuration['features']> {
  const isOwn: TokenPolicy = (_context, client, token) => token.clientId === client.clientId
  return {
    devInteractions: { enabled: false },
    userinfo: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    dPoP: { enabled: false },
    registration: { enabled: rules.registration, issueRegistrationAccessToken: false },
    revocation: { enabled: true, allowedPolicy: isOwn },
    introspection: { enabled: true, allowedPolicy: isOwn },
    clientCredentials: { enabled: true },
    clientIdMetadataDocument: {
      enabled: rules.documents,
      ack: 'draft-02',
      allowFetch: async () => {
        if (documents.mayFetch()) return true
        const text = 'Too many client documents are being fetched. Try again in a few seconds.'
        throw new errors.TemporarilyUnavailable(text)
      },
    },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resourceAt(origin),
      useGrantedResource: () => true,
      getResourceServerInfo: ({ oidc }, resource) => {
        if (resource !== resourceAt(origin)) {
          throw new errors.InvalidTarget(`resource must be ${resourceAt(origin)}`)
        }
        const reserved = [...oidc.requestParamScopes].find(isReserved)
        if (reserved !== undefined) {
          throw new errors.InvalidScope('OAuth clients cannot get this scope', reserved)
        }
        return {
          scope: toolScope,
          audience,
          accessTokenTTL: seconds.AccessToken,
          accessTokenFormat: 'opaque',
        }
      },
    },
  }
}

type TokenPolicy = (
  context: unknown,
  client: { clientId: string },
  token: { clientId?: string | undefined },
) => boolean

/** The OAuth error for each error code of the store. */
const refusals: Record<StoreRefusalCode, new (message: string) => Error> = {
  already_used: errors.InvalidGrant,
  connection_ended: errors.InvalidGrant,
  too_many_clients: errors.TemporarilyUnavailable,
  too_many_artifacts: errors.TemporarilyUnavailable,
  too_many_connections: errors.TemporarilyUnavailable,
}

/** The OAuth error for an error of the store; returns other errors unchanged. */
function refusalOf(error: unknown, kind: string): unknown {
  if (!(error instanceof StoreRefusal)) return error
  const { code, message } = error
  // A signed assertion may be used once (RFC 7523 section 3).
  const isReplay = code === 'already_used' && kind === 'ReplayDetection'
  return isReplay ? new errors.InvalidClientAuth(message) : new refusals[code](message)
}
