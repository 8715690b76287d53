import { createHmac, randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type Koa from 'koa'
import { Provider, errors, type Configuration, type KoaContextWithOIDC } from 'oidc-provider'
import type { ConnectionLog } from '../core/connection-log.ts'
import { StoreRefusal, type StoreRefusalCode } from '../core/error.ts'
import { adapterOver, type ArtifactStore, type OAuthKeys } from './artifacts.ts'
import type { ClientDocuments } from './client-document.ts'
import { withKeyRemedy } from './error-answer.ts'
import { keepErrors, showError } from './error-page.ts'
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
  /** The issuer, and how all its addresses begin. */
  origin: string
  /** The audience of access tokens. */
  audience: string
  rules: ClientRules
  store: ArtifactStore
  keys: OAuthKeys
  /** Whether a secret is one of those whose digests the store gives. */
  matchesSecret: (secret: string, digests: string) => boolean
  /** Gives the documents of clients, cleaned. */
  documents: ClientDocuments
  onFault: (error: unknown) => void
  connectionLog: Pick<ConnectionLog, 'refused'>
}

const minuteSeconds = 60
const hourSeconds = 60 * minuteSeconds
const daySeconds = 24 * hourSeconds
/** How long things hold (docs/oauth.md#how-long-things-hold). */
const seconds = {
  AccessToken: hourSeconds,
  ClientCredentials: hourSeconds,
  AuthorizationCode: minuteSeconds,
  Interaction: interactionSeconds,
  /** Not used: the gateway's own session identifies the person. */
  Session: minuteSeconds,
  /** Of each one, so that a connection lasts while it is used. */
  RefreshToken: 90 * daySeconds,
  /** A connection ends when it is revoked. */
  Grant: 100 * 365 * daySeconds,
}

export const cookieNames = {
  interaction: 'gateway_oauth_interaction',
  resume: 'gateway_oauth_resume',
  session: 'gateway_oauth_session',
}

/** Prefixes, which distinguish kinds of tokens without a look-up. */
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
  // The gateway sets the headers with origin and protocol (`serve-oidc.ts`).
  provider.proxy = true
  // Its types name its own events alone.
  const server: Koa = provider
  server.use(addKeyRemedy)
  server.use(nameForeignGrant)
  server.use(finishExchanges(options.store))
  server.use(keepErrors(provider, options.store))
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

/** Adds the alternative of an API key to oidc-provider's errors. */
const addKeyRemedy: Koa.Middleware = async (context, next) => {
  await next()
  const { status, body } = context as { status: number; body: unknown }
  if (status < 400 || typeof body !== 'object' || body === null) return
  const { error_description: text = '' } = body as { error_description?: string }
  if ('error' in body) context.body = { ...body, error_description: withKeyRemedy(text) }
}

/** A grant type that is not the client's has a code of its own (RFC 6749 section 5.2). */
const nameForeignGrant: Koa.Middleware = async (context, next) => {
  await next()
  const { oidc, body } = context as unknown as Partial<KoaContextWithOIDC>
  const { error } = (body ?? {}) as { error?: string }
  const grant = oidc?.params?.['grant_type']
  if (error !== 'invalid_request' || oidc?.client === undefined || typeof grant !== 'string') return
  if (oidc.client.grantTypeAllowed(grant)) return
  const error_description = 'This grant_type is not one of those of the client.'
  context.body = { ...(body as object), error: 'unauthorized_client', error_description }
}

/** Exchanges of one code that a client sends at once arrive within this time of each other. */
const sentAtOnceMs = 100

/**
 * Notes that a code was exchanged before it answers: a client that sends the code after the answer replays
 * it, and ends the connection (RFC 6749 section 4.1.2). The answer waits for exchanges that were sent with it; these
 * are refused and end nothing.
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

/** Ids of this kind begin with the prefix. */
function addPrefix(provider: Provider, kind: string, prefix: string): void {
  // Its types leave the method out, which its own formats override too.
  type Model = { prototype: { generateTokenId(): string } }
  const { prototype } = provider[kind as keyof typeof prefixes] as unknown as Model
  const generate = prototype.generateTokenId
  prototype.generateTokenId = function generatePrefixed() {
    return prefix + generate.call(this)
  }
}

/** A refresh token with the seed of its successor, which is random and stored with it. */
type SeededToken = { jti: string; seed?: string; generateTokenId(): string }

/**
 * Derives the id of each successor of a refresh token from the token and its seed: a token that is used twice
 * within its grace has one successor, in all processes. A thief's tokens and the owner's are then the same
 * ones, and using one after its grace is seen as a replay. Neither the token nor the store alone gives it.
 */
function repeatSuccessors({ RefreshToken }: Provider): void {
  // Its types leave out both members, by which it says what it stores.
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
    // Its types are those of a JWK with every member.
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
    // A code is exchanged with the address that was named for it (RFC 6749 section 4.1.3).
    allowOmittingSingleRegisteredRedirectUri: false,
    rotateRefreshToken: true,
    // The contract's router answers preflights, and no cookie identifies a client.
    clientBasedCORS: () => true,
    expiresWithSession: async () => false,
    issueRefreshToken: async (_context, client) => client.grantTypeAllowed('refresh_token'),
    findAccount: async (_context, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
    // Consent is asked each time, also for a browser with an earlier grant.
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
        if (documents.hasRoom()) return true
        const text = 'Too many documents of clients are fetched. Try again in a few seconds.'
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
          throw new errors.InvalidScope('this scope is not given to OAuth clients', reserved)
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

/** The OAuth error of each refusal of the store. */
const refusals: Record<StoreRefusalCode, new (message: string) => Error> = {
  already_used: errors.InvalidGrant,
  connection_ended: errors.InvalidGrant,
  too_many_clients: errors.TemporarilyUnavailable,
  too_many_artifacts: errors.TemporarilyUnavailable,
  too_many_connections: errors.TemporarilyUnavailable,
}

/** The OAuth error of a refusal of the store; returns other errors unchanged. */
function refusalOf(error: unknown, kind: string): unknown {
  if (!(error instanceof StoreRefusal)) return error
  const { code, message } = error
  // A signed assertion authenticates a client once.
  const isSaidAgain = code === 'already_used' && kind === 'ReplayDetection'
  return isSaidAgain ? new errors.InvalidClientAuth(message) : new refusals[code](message)
}
