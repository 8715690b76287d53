import { createHash } from 'node:crypto'
import type * as openidClient from 'openid-client'
import type { Configuration, CustomFetch, ServerMetadata } from 'openid-client'
import { createQueue } from '../bytes/queue.ts'
import { GatewayError, plainLine } from '../core/error.ts'
import type { Claims } from './oidc-claims.ts'

type Client = typeof openidClient

type Options = {
  issuer: string
  clientId: string
  /** Undefined for a public client. */
  clientSecret: string | undefined
  scopes: string
  fetch: CustomFetch
  /** Cleans a text of the provider for people. */
  plainWords: (text: string) => string
  /** Whether the claims of an ID token suffice; otherwise the provider is asked for more. */
  isComplete: (claims: Claims) => boolean
  clock: () => number
}

/** The secrets of one sign-in. */
export type Checks = { state: string; nonce: string; verifier: string }

const timeoutSeconds = 10
const clockToleranceSeconds = 60
/** The metadata is read again after this time, and after a failure not before that one. */
const metadataMs = 3_600_000
const failureMs = 5_000
/** A sign-in makes at most four requests to the provider. */
const signInsConcurrentMax = 8
const signInsWaitingMax = 64

export type OpenIdProvider = ReturnType<typeof createOpenIdProvider>

/**
 * The gateway as a client of an OpenID provider: authorization code flow with PKCE, state, nonce and the `iss` of
 * RFC 9207. openid-client checks the answers and their signatures.
 */
export function createOpenIdProvider(options: Options) {
  const configure = createConfigurations(options)
  const queue = createQueue({
    concurrentMax: signInsConcurrentMax,
    waitingMax: signInsWaitingMax,
    full: () => unavailable('Too many sign-ins are in progress.'),
  })
  const run = <T>(task: (client: Client) => Promise<T>) =>
    // Loaded at the first sign-in, since most gateways need no OpenID provider.
    queue.run(async () => {
      const client = await import('openid-client')
      return task(client).catch((error: unknown) => {
        throw signInError(client, error, options)
      })
    })
  return {
    /** The address to which the browser goes. Throws `overloaded` while the provider cannot be reached. */
    authorizationUrl: (redirectUri: string, { state, nonce, verifier }: Checks) =>
      run(async (client) => {
        const url = client.buildAuthorizationUrl((await configure(client)).configuration, {
          response_type: 'code',
          redirect_uri: redirectUri,
          scope: options.scopes,
          state,
          nonce,
          code_challenge: createHash('sha256').update(verifier).digest('base64url'),
          code_challenge_method: 'S256',
        })
        return url.href
      }),
    /**
     * The claims about the person. `answer` is the address of the redirect, with `redirect_uri` as its beginning. Throws
     * `invalid_token` for an invalid answer, `overloaded` while the provider cannot be reached.
     */
    claims: (answer: URL, { state, nonce, verifier }: Checks) =>
      run(async (client): Promise<Claims> => {
        const { configuration, keepKeys } = await configure(client)
        const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier }
        const tokens = await client.authorizationCodeGrant(configuration, answer, checks)
        keepKeys()
        // `expectedNonce` requires an ID token.
        const claims = tokens.claims()!
        const { userinfo_endpoint: userInfo } = configuration.serverMetadata()
        if (userInfo === undefined || options.isComplete(claims)) return claims
        const more = await client.fetchUserInfo(configuration, tokens.access_token, claims.sub)
        return { ...more, ...claims }
      }),
  }
}

/** Makes a configuration with the current time for each sign-in; metadata and keys of the provider are cached. */
function createConfigurations({
  issuer,
  clientId,
  clientSecret,
  fetch,
  plainWords,
  clock,
}: Options) {
  let known: { metadata: ServerMetadata; readAt: number } | undefined
  let failed: { error: unknown; at: number } | undefined
  let reading: Promise<ServerMetadata> | undefined
  let keys: ReturnType<Client['getJwksCache']>
  const execute = ({ allowInsecureRequests, enableNonRepudiationChecks }: Client) => [
    enableNonRepudiationChecks,
    // The settings allow http only on this machine.
    ...(issuer.startsWith('http:') ? [allowInsecureRequests] : []),
  ]
  const read = async (client: Client): Promise<ServerMetadata> => {
    const settings = { timeout: timeoutSeconds, execute: execute(client) }
    const found = await client.discovery(new URL(issuer), clientId, undefined, undefined, {
      ...settings,
      [client.customFetch]: fetch,
    })
    const metadata = found.serverMetadata()
    if (new URL(metadata.issuer).href !== new URL(issuer).href)
      throw unavailable(`It states that its issuer is ${plainWords(metadata.issuer)}.`)
    known = { metadata, readAt: clock() }
    return metadata
  }
  const metadataOf = async (client: Client): Promise<ServerMetadata> => {
    if (known !== undefined && clock() - known.readAt < metadataMs) return known.metadata
    if (failed !== undefined && clock() - failed.at < failureMs) throw failed.error
    reading ??= read(client).finally(() => {
      reading = undefined
    })
    return reading.catch((error: unknown) => {
      failed = { error, at: clock() }
      throw error
    })
  }
  return async (
    client: Client,
  ): Promise<{ configuration: Configuration; keepKeys: () => void }> => {
    const metadata = await metadataOf(client)
    const times = {
      [client.clockSkew]: Math.round((clock() - Date.now()) / 1000),
      [client.clockTolerance]: clockToleranceSeconds,
    }
    const authentication = authenticationOf(client, metadata, clientSecret)
    const configuration = new client.Configuration(metadata, clientId, times, authentication)
    configuration.timeout = timeoutSeconds
    configuration[client.customFetch] = fetch
    for (const extension of execute(client)) extension(configuration)
    if (keys !== undefined) client.setJwksCache(configuration, keys)
    return { configuration, keepKeys: () => (keys = client.getJwksCache(configuration)) }
  }
}

/** Basic authentication is the default of OpenID Connect Discovery. */
function authenticationOf(
  { ClientSecretBasic, ClientSecretPost, None }: Client,
  { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] }: ServerMetadata,
  secret: string | undefined,
) {
  if (secret === undefined) return None()
  return methods.includes('client_secret_basic')
    ? ClientSecretBasic(secret)
    : ClientSecretPost(secret)
}

const wordsLengthMax = 300

/** The error for people: what the provider, or the check of its answer, says. */
function signInError(
  client: Client,
  error: unknown,
  { plainWords }: Pick<Options, 'plainWords'>,
): unknown {
  if (error instanceof GatewayError || !(error instanceof Error)) return error
  const said = (...texts: (string | undefined)[]) =>
    plainLine(plainWords(texts.filter(Boolean).join(': ')), wordsLengthMax)
  const { AuthorizationResponseError, ResponseBodyError, WWWAuthenticateChallengeError } = client
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) {
    const words = said(error.error, error.error_description)
    const text = `The OpenID provider refused the sign-in: ${words}`
    return new GatewayError('invalid_token', text, { cause: error })
  }
  if (error instanceof WWWAuthenticateChallengeError) {
    const { error: code, error_description: why } = error.cause[0]?.parameters ?? {}
    const words = said(code ?? 'invalid_client', why)
    const text = `The OpenID provider refused the gateway, whose operator can correct it: ${words}`
    return new GatewayError('invalid_token', text, { cause: error })
  }
  const { cause } = error
  if (!(error instanceof client.ClientError) || awayCodes.has(error.code))
    return unavailable('The OpenID provider cannot be reached, or fails.', error)
  const words = said(cause instanceof Error ? cause.message : error.message)
  const text = `The answer of the OpenID provider is invalid: ${words}.`
  return new GatewayError('invalid_token', text, { cause: error })
}

/** Codes of openid-client for a provider that is slow, or answers with an unexpected status or media type. */
const awayCodes: ReadonlySet<string | undefined> = new Set([
  undefined,
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
])

function unavailable(why: string, cause?: unknown): GatewayError {
  const text = `${why} Try again in a moment; if it goes on, ask an operator of the gateway.`
  return new GatewayError('overloaded', text, { cause, retryAfterSeconds: 5 })
}
