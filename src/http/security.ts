import type { IncomingMessage } from 'node:http'
import type { BlockList } from 'node:net'
import type {
  Context as BackendContext,
  OpenAPIBackend,
  Operation as BackendOperation,
} from 'openapi-backend'
import { operations, type Access, type SecurityScheme } from '../../generated/operations.ts'
import type { Caller, Identify, PersonCaller, Scope } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import { holds, networksOf } from '../core/networks.ts'
import { keyRemedy } from '../core/words/remedies.ts'
import { timingSafeEqualText } from '../bytes/timing-safe-equal.ts'
import type { ClientAddress } from './client-address.ts'
import { assertSameOrigin, isUnsafe } from './cross-origin.ts'
import type { SessionCookie } from './session-cookie.ts'

/**
 * Identifies the caller by one security scheme of the contract; undefined when the request has no
 * credentials of that scheme. Throws a GatewayError for invalid credentials.
 */
type SecurityHandler = (request: IncomingMessage) => Promise<Caller> | Caller | undefined

/** A handler for each scheme; a missing one is a compile error. */
export type SecurityHandlers = Record<SecurityScheme, SecurityHandler> & {
  /** Throws the GatewayError for a request without credentials; undefined if none are needed. */
  unauthorized: (request: IncomingMessage, access: Access) => Promise<Caller> | Caller | undefined
}

/** Returns the person of a session; rejects with `invalid_session` if it has expired. */
type IdentifySession = (token: string) => Promise<PersonCaller>

type Options = {
  identify: Identify
  identifySession: IdentifySession
  cookie: SessionCookie
  /** The public address of the gateway; undefined to use the address of the request. */
  baseUrl: string | undefined
}

/**
 * API keys, as a bearer token or in `x-api-key` (the product document, Authentication), and the
 * sessions of people.
 */
export function createSecurity(options: Options): SecurityHandlers {
  const { identify } = options
  return {
    bearer: ({ headers: { authorization } }) =>
      authorization === undefined ? undefined : identify({ authorization, apiKey: undefined }),
    apiKey: (request) => {
      const apiKey = header(request, 'x-api-key')
      return apiKey ? identify({ authorization: undefined, apiKey }) : undefined
    },
    session: (request) => {
      const token = options.cookie.read(request)
      return token === undefined ? undefined : signedIn(request, token, options)
    },
    unauthorized: (request, access) => {
      if (access === 'client') return undefined
      if (access === 'public' || access === 'anyone') {
        // Without this check, a foreign page could sign its visitor in to another account.
        if (isUnsafe(request)) assertSameOrigin(request, options.baseUrl)
        return undefined
      }
      if (access === 'person') throw new GatewayError('invalid_session', notSignedIn)
      const place = misplacedKeyOf(request)
      if (place === undefined) return identify({ authorization: undefined, apiKey: undefined })
      throw new GatewayError(
        'missing_api_key',
        `The API key is not read from ${place}. ${keyRemedy}`,
      )
    },
  }
}

const notSignedIn = 'You are not signed in. Sign in with POST /api/sessions.'

async function signedIn(
  request: IncomingMessage,
  token: string,
  { identifySession, baseUrl }: Options,
): Promise<PersonCaller> {
  const changes = isUnsafe(request)
  if (changes) assertSameOrigin(request, baseUrl)
  const caller = await identifySession(token)
  if (changes) assertToken(request, caller.person.csrfToken)
  return caller
}

/** Throws `csrf_failed` unless the request has the CSRF token of the session. */
function assertToken(request: IncomingMessage, expected: string): void {
  if (timingSafeEqualText(header(request, 'x-csrf-token') ?? '', expected)) return
  const text =
    "The header 'x-csrf-token' is missing or wrong. Send the `csrf_token` that signing in and " +
    'GET /api/sessions/current answer.'
  throw new GatewayError('csrf_failed', text, { param: 'x-csrf-token' })
}

const otherApisHeaders = [
  'api-key',
  'x-goog-api-key',
  'apikey',
  'x-auth-token',
  'proxy-authorization',
]

/** The header or query parameter with a key, by the conventions of other APIs. */
function misplacedKeyOf({ headers, url = '' }: IncomingMessage): string | undefined {
  const found = otherApisHeaders.find((name) => headers[name] !== undefined)
  if (found !== undefined) return `the header '${found}'`
  const name = /[?&](key|api[_-]?key|access_token|token)=/i.exec(url)?.[1]
  return name === undefined ? undefined : `the query parameter '${name}'`
}

function header({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** The registered handlers of openapi-backend. */
export type Registered = Pick<OpenAPIBackend, 'handlers' | 'securityHandlers'>

/**
 * Returns the caller if they may use the operation, or undefined if the operation needs no
 * authentication. Throws or rejects with a GatewayError.
 */
type Authorize = (request: IncomingMessage) => Promise<Caller | undefined> | Caller | undefined

/** The context of openapi-backend, which no handler here reads. */
export const noContext = {} as BackendContext

/**
 * Returns the caller with their current rights in this account, or in their own account. Rejects with a
 * GatewayError for a caller without rights.
 */
export type ActFor = (caller: Caller, accountId: string | undefined) => Promise<Caller>

type Authorizing = {
  addressOf: ClientAddress
  /** Only for operations that administer or that accept `account_id`. */
  actFor?: ActFor
}

/**
 * Tries the security handlers of an operation in the order of the contract and checks the scopes that
 * the contract lists. An operation without `security` accepts any request without reading credentials;
 * an operation with an empty requirement also accepts requests without credentials. Throws for an
 * operation that requires several schemes at once, which is not supported.
 */
export function authorizerOf(
  { operationId, security = [] }: BackendOperation,
  { handlers, securityHandlers }: Registered,
  { addressOf, actFor }: Authorizing,
): Authorize {
  if (security.some((one) => Object.keys(one).length > 1)) {
    throw new Error(`Each security requirement of ${operationId} must name one scheme.`)
  }
  const { access, forOperators, queryNames } = operations.find(({ id }) => id === operationId)!
  const names: readonly string[] = queryNames
  const isForAnyAccount = names.includes(accountParameter)
  const asked = security.flatMap((requirement) =>
    Object.entries(requirement).map(([scheme, scopes]) => ({
      handle: securityHandlers[scheme]!,
      // The scopes are values of the schema `Scope`, as the contract tests check.
      needed: { scopes: scopes as Scope[], forOperators },
    })),
  )
  const isPlain = asked.every(({ needed }) => needed.scopes.every((scope) => scope === 'inference'))
  const acts = isPlain && !isForAnyAccount ? undefined : actFor
  const atHome = createAddressCheck(addressOf)
  return (request) => {
    for (const { handle, needed } of asked) {
      // `registerHandlers` registers only handlers of type `SecurityHandlers`.
      const caller = handle(noContext, request) as ReturnType<SecurityHandlers['bearer']>
      if (caller === undefined) continue
      if (access === 'anyone') return Promise.resolve(caller).catch(asSignedOut)
      if (acts !== undefined) {
        const accountId = isForAnyAccount ? accountAsked(request) : undefined
        return Promise.resolve(caller)
          .then((known) => acts(atHome(known, request), accountId))
          .then((acting) => permitted(acting, needed))
      }
      return caller instanceof Promise
        ? caller.then((known) => permitted(atHome(known, request), needed))
        : permitted(atHome(caller, request), needed)
    }
    // `registerHandlers` registers this handler from `SecurityHandlers` too.
    return handlers['unauthorizedHandler']!(noContext, request, access) as ReturnType<
      SecurityHandlers['unauthorized']
    >
  }
}

/** An expired session counts as no session. */
function asSignedOut(error: unknown): undefined {
  if (error instanceof GatewayError && error.code === 'invalid_session') return undefined
  throw error
}

function accountAsked({ url = '' }: IncomingMessage): string | undefined {
  const start = url.indexOf('?')
  if (start < 0) return undefined
  // Reads only the first value, since `readQuery` refuses a repeated parameter.
  return new URLSearchParams(url.slice(start)).get(accountParameter) ?? undefined
}

/** The query parameter that names the account to act for. */
const accountParameter = 'account_id'

type Needed = { scopes: readonly Scope[]; forOperators: boolean }

/** Returns the caller if they have the scopes and role. Throws `insufficient_scope`. */
function permitted(caller: Caller, { scopes, forOperators }: Needed): Caller {
  for (const scope of scopes) {
    if (!caller.scopes.includes(scope) && !caller.scopes.includes('admin')) {
      throw without(scope, caller).about(caller)
    }
  }
  if (forOperators && !caller.isOperator) {
    const text =
      'Only operators of the gateway may do this. Ask one, or use an admin key of the first account.'
    throw new GatewayError('insufficient_scope', text)
  }
  return caller
}

function without(scope: Scope, { person, creatorId, hasToken }: Caller): GatewayError {
  if (hasToken) {
    const text = `This needs the scope '${scope}', which the access token does not have. Use an API key that has it.`
    return new GatewayError('insufficient_scope', text)
  }
  if (creatorId !== undefined) {
    const text = `This needs the scope '${scope}', which the API key does not have, or lost because its creator no longer has it. Use another key.`
    return new GatewayError('insufficient_scope', text)
  }
  const text =
    person === undefined
      ? `This needs the scope '${scope}', which the API key does not have. Use a key that has it.`
      : `This needs the scope '${scope}', which a ${person.role} does not have. Ask an owner for another role.`
  return new GatewayError('insufficient_scope', text)
}

/**
 * Returns the caller if their key may be used from the address of the request. Throws
 * `ip_not_allowed`.
 */
export function createAddressCheck(addressOf: ClientAddress) {
  return (caller: Caller, request: IncomingMessage): Caller => {
    if (caller.networks === null) return caller
    const address = addressOf(request)
    if (address !== null && holds(allowedOf(caller.networks), address)) return caller
    throw new GatewayError(
      'ip_not_allowed',
      `This API key may not be used from ${address ?? 'an unknown address'}. Call from one of its allowed addresses, or use another key. If that is a proxy's address, its operator names it in 'trusted_proxies'.`,
    ).about(caller)
  }
}

/** Each list of addresses is compiled once. */
const known = new WeakMap<readonly string[], BlockList>()

function allowedOf(networks: readonly string[]): BlockList {
  let allowed = known.get(networks)
  if (allowed === undefined) known.set(networks, (allowed = networksOf(networks)))
  return allowed
}
