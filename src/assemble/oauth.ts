import { isWellFormedKey, notAKey } from '../accounts/api-key.ts'
import type { Keys } from '../accounts/keys.ts'
import { createArtifactStore } from '../accounts/oauth/artifact-store.ts'
import { createConnections } from '../accounts/oauth/connections.ts'
import { sweepOAuth } from '../accounts/oauth/oauth-sweep.ts'
import { createOAuthKeys } from '../accounts/oauth/oauth-keys.ts'
import { matchesSecret } from '../accounts/oauth/registered-clients.ts'
import { anonymousClientOf } from '../api/entrance.ts'
import { toolServerAddress } from '../settings/config.ts'
import { Agent, fetch } from 'undici'
import { GatewayError, StoreRefusal } from '../core/error.ts'
import { createAddressCheck } from '../http/security.ts'
import { groupsOf } from '../oauth/oidc-claims.ts'
import type { OidcSignInOptions } from '../oauth/oidc-sign-in.ts'
import { createOpenIdProvider } from '../oauth/openid-provider.ts'
import { plainWords } from '../providers/transport/plain-words.ts'
import { createOAuthServer, type OAuthServer } from '../oauth/index.ts'
import type { AnswerOptions } from '../oauth/pages/answer-interaction.ts'
import type { PageCall, ShownKey } from '../oauth/pages/interaction-pages.ts'
import { createInteractionTokens } from '../oauth/pages/interaction-tokens.ts'
import { createGuardedFetch } from '../pictures/guarded-fetch.ts'
import { createRegistrationLimit } from '../policy/attempts.ts'
import type { Counts } from '../policy/counts.ts'
import type { People } from './people.ts'
import type { Environment, StoreParts } from './store.ts'

type Parts = {
  environment: Pick<Environment, 'config' | 'secrets' | 'events' | 'publicNet' | 'clock'>
  store: StoreParts
  people: People
  keys: Keys
  counts: Counts
}

/** Builds the authorization server with its store and network access. */
export function assembleOAuth(parts: Parts): OAuthServer & { close: () => Promise<void> } {
  const { environment, people } = parts
  const { config, events, publicNet, clock } = environment
  const { store, audit, announce, identify, connectionLog } = parts.store
  const { limits, clientRegistration, clientDocuments } = config
  // Redirects of a client metadata document are refused.
  const guarded = createGuardedFetch({
    redirectsMax: 0,
    connectionsMax: limits.upstreamConnectionsMax,
    ...publicNet,
  })
  const sweep = sweepOAuth({
    store,
    announce,
    clock,
    limits,
    onSwept: (error) => events.worked('oauth_sweep', error),
  })
  const oidc = oidcSignIn(parts)
  const server = createOAuthServer({
    rules: {
      registration: clientRegistration === 'open',
      documents: clientDocuments === 'open',
    },
    publicOrigin: people.publicOrigin,
    audience: toolServerAddress(config),
    store: createArtifactStore({ store, audit, announce, clock, limits }),
    readKeys: createOAuthKeys({ store, clock }),
    matchesSecret,
    identify,
    fetchPublic: async (address, fetchLimits) => {
      const pieces: Buffer[] = []
      const sink = { push: (piece: Buffer) => void pieces.push(piece) }
      await guarded.fetch(address, { ...fetchLimits, accept: 'application/json' }, sink)
      return Buffer.concat(pieces).toString()
    },
    countRegistration: createRegistrationLimit(parts.counts, () => ({
      perAddressMax: limits.oauthRegistrationsPerHourMax,
      totalMax: limits.oauthRegistrationsTotalPerHourMax,
    })),
    clientAttempts: people.clientAttempts,
    pages: pagesOf(parts),
    signIn: oidc.options,
    limits,
    onFault: events.faulted,
    connectionLog,
  })
  return {
    ...server,
    close: async () => {
      sweep.close()
      await guarded.close()
      await oidc.close()
    },
  }
}

const oidcAnswerBytesMax = 1_048_576
const oidcConnectionsMax = 8

/** Sign-in with OpenID Connect. The operator chose the provider, so its address may be private. */
function oidcSignIn({ environment, people }: Parts) {
  const { config, secrets, clock } = environment
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcGroupClaim: groupClaim } = config
  const rules = { issuer: issuer ?? '', groupClaim, roles: config.oidcRoles }
  const dispatcher = new Agent({
    maxResponseSize: oidcAnswerBytesMax,
    connections: oidcConnectionsMax,
  })
  const provider =
    issuer === undefined || clientId === undefined
      ? undefined
      : createOpenIdProvider({
          issuer,
          clientId,
          clientSecret: secrets.oidcClientSecret,
          scopes: config.oidcScopes,
          fetch: (address, init) => fetch(address, { ...init, dispatcher }),
          plainWords,
          isComplete: (claims) =>
            claims['email'] !== undefined && groupsOf(claims, groupClaim).length > 0,
          clock,
        })
  const options: Omit<OidcSignInOptions, 'publicOrigin'> = {
    provider,
    rules,
    isSecure: config.baseUrl?.startsWith('https:') === true,
    enter: async (person, call) => {
      const session = await people.oidcSignIns.enter(person, anonymousClientOf(call))
      return people.cookie.set(session.token, session.ageSeconds)
    },
    countAttempt: (call) => people.attempts.begin(anonymousClientOf(call)),
    onFailure: async ({ error, subject }, call) => {
      // As with passwords, a sign-in that must wait is not counted, nor what fails at the provider.
      const isRefused = error instanceof GatewayError && error.status < 429
      if (!isRefused) return
      const personId = subject && (await people.oidcSignIns.find(rules.issuer, subject))
      await people.signInFailed({ personId, address: anonymousClientOf(call).address })
    },
    clock,
  }
  return { options, close: () => dispatcher.close() }
}

/** The dependencies of the sign-in and consent pages. */
function pagesOf(parts: Parts): Omit<AnswerOptions, 'interactions'> {
  const { people, environment } = parts
  const { config, clock } = environment
  const { store, audit, announce, secret, connectionLog } = parts.store
  const connections = createConnections({ store, audit, announce, clock, limits: config.limits })
  const isSecure = config.baseUrl?.startsWith('https:') === true
  return {
    personOf: async (token) => {
      const caller = await people.sessions.identify(token)
      return { caller, person: await people.people.retrieve(caller.person.id) }
    },
    keyOf: (keyId) => keyOf(parts, keyId),
    signIn: (credentials, call) => people.signIns.signIn(credentials, anonymousClientOf(call)),
    register: (person, call) => people.signUps.signUp(person, anonymousClientOf(call)),
    signOut: (caller, actor) => people.sessions.end(caller, caller.person.sessionId, actor),
    useKey: (key, call) => useKey(parts, key, call),
    connect: (consent) => connections.connect(consent).catch(asGatewayError),
    cookie: people.cookie,
    tokens: createInteractionTokens(secret.keyFor('oauth pages', tokenKeyBytes), isSecure),
    connectionLog,
    signUp: config.signUp === 'open',
    passwordsAreOpen: people.passwordsAreOpen,
    oidcLabel: people.oidcLabel,
    baseUrl: config.baseUrl,
  }
}

const tokenKeyBytes = 32

/** The state of an API key for its holder; undefined when it is not valid. */
async function keyOf(
  { keys, store: { accounts } }: Parts,
  keyId: string,
): Promise<ShownKey | undefined> {
  const key = await keys.retrieve({ id: keyId }).catch(unlessNotFound)
  if (key === undefined || key.state !== 'active') return undefined
  const { id, name, hint, mode } = key
  const holder = { id, address: null, accountId: key.account_id, scopes: [], isOperator: false }
  const { name: accountName } = await accounts.retrieve(holder, key.account_id)
  return { id, name, hint, mode, account: { id: key.account_id, name: accountName } }
}

/** Authenticates with an API key; failed attempts are limited like failed passwords. */
async function useKey(
  { people, store: { identify } }: Parts,
  key: string,
  call: PageCall,
): Promise<string> {
  if (key === '') throw new GatewayError('missing_api_key', 'Fill in an API key.')
  const succeeded = await people.attempts.begin(anonymousClientOf(call))
  if (!isWellFormedKey(key)) throw notAKey(key)
  const caller = await identify({ authorization: undefined, apiKey: key })
  createAddressCheck(call.addressOf)(caller, call.request)
  if (!caller.scopes.includes('inference')) {
    const text = "This API key may not call models. Use one that has the scope 'inference'."
    throw new GatewayError('insufficient_scope', text)
  }
  succeeded()
  return caller.keyId
}

function unlessNotFound(error: unknown): undefined {
  if (error instanceof GatewayError && error.code === 'not_found') return undefined
  throw error
}

function asGatewayError(error: unknown): never {
  if (error instanceof StoreRefusal) throw new GatewayError('invalid_value', error.message)
  throw error
}
