import { createHmac, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { timingSafeEqualText } from '../bytes/timing-safe-equal.ts'
import { textIn } from '../core/any-json.ts'
import type { Identity } from '../core/caller.ts'
import { GatewayError, plainLine } from '../core/error.ts'
import { errorHeaders, type ErrorAnswer } from '../http/error-answer.ts'
import type { Operations } from '../http/contract-router.ts'
import type { OperationCall } from '../http/operation.ts'
import type { PublicOrigin } from '../http/public-origin.ts'
import { cookieOf } from '../http/session-cookie.ts'
import { isEmailVerified, roleOf, type Claims, type RoleRules } from './oidc-claims.ts'
import type { Checks, OpenIdProvider } from './openid-provider.ts'
import { interactionPath, signInPath } from './metadata.ts'
import { markup } from './pages/html.ts'
import { pageAnswer } from './pages/page.ts'

type Call = Pick<OperationCall<'completeOidcSignIn'>, 'request' | 'addressOf'>

export type OidcSignInOptions = {
  /** Undefined if the settings name no OpenID provider. */
  provider: OpenIdProvider | undefined
  rules: RoleRules
  publicOrigin: PublicOrigin
  isSecure: boolean
  /** Signs the person in. Returns the header `set-cookie` of the session. Throws `insufficient_scope`. */
  enter: (person: Identity, call: Call) => Promise<string>
  /** Counts an attempt; call the returned function if it succeeds. Throws `rate_limit_exceeded`. */
  countAttempt: (call: Call) => Promise<() => void>
  /** Counts a failed sign-in; `subject` is whom the provider has named. */
  onFailure: (failed: { error: unknown; subject: string | undefined }, call: Call) => Promise<void>
  clock: () => number
}

const dashboardPath = '/dashboard/'
const callbackPath = `${signInPath}/callback`
const nameLengthMax = 100

/** The handlers of sign-in with OpenID Connect. No state is stored: a cookie holds the secret of the browser. */
export function oidcSignInOperations(options: OidcSignInOptions) {
  const { rules, publicOrigin, onFailure } = options
  const pending = createPendingSignIns(options)
  const providerOf = () => {
    if (options.provider !== undefined) return options.provider
    const text = 'OpenID Connect is not configured on this gateway. Sign in with a password.'
    throw new GatewayError('not_found', text)
  }
  const complete = async (
    call: Call,
    provider: OpenIdProvider,
    onNamed: (subject: string) => void,
  ) => {
    const { request } = call
    const succeeded = await options.countAttempt(call)
    // The redirect address of the first step, whatever host the request names.
    const answer = new URL(publicOrigin(request) + callbackPath)
    answer.search = queryOf(request).toString()
    const { returnTo, ...checks } = pending.find(request, answer.searchParams.get('state') ?? '')
    const claims = await provider.claims(answer, checks)
    onNamed(claims.sub)
    const cookie = await options.enter(personOf(claims, rules), call)
    succeeded()
    return redirect(returnTo, cookie)
  }
  return {
    startOidcSignIn: async ({ request }) => {
      const provider = providerOf()
      const { cookie, ...checks } = pending.begin(request)
      const redirectUri = publicOrigin(request) + callbackPath
      return redirect(await provider.authorizationUrl(redirectUri, checks), cookie)
    },
    completeOidcSignIn: async (call) => {
      const provider = providerOf()
      let subject: string | undefined
      return complete(call, provider, (named) => (subject = named)).catch(
        async (error: unknown) => {
          await onFailure({ error, subject }, call)
          throw error
        },
      )
    },
  } satisfies Partial<Operations>
}

function personOf(claims: Claims, rules: RoleRules): Identity {
  const role = roleOf(claims, rules)
  const email = textIn(claims['email'])
  if (role === undefined) {
    const who = email === undefined ? 'You have' : `${email} has`
    const text = `${who} no role on this gateway: its settings name none of your groups, and not the domain of your e-mail. Ask an operator of the gateway.`
    throw new GatewayError('insufficient_scope', text)
  }
  const name = textIn(claims['name']) ?? textIn(claims['preferred_username'])
  return {
    issuer: rules.issuer,
    subject: claims.sub,
    email,
    isEmailVerified: isEmailVerified(claims),
    name: name && textIn(plainLine(name, nameLengthMax)),
    role,
  }
}

const cookieName = 'gateway_sign_in'
const pendingSeconds = 600

/**
 * Derives state, nonce and PKCE verifier of a sign-in from the secret in the browser's cookie, so that nothing is
 * stored and one browser can have several sign-ins in progress. Only this browser can complete them.
 */
function createPendingSignIns({ isSecure, clock }: Pick<OidcSignInOptions, 'isSecure' | 'clock'>) {
  const name = isSecure ? `__Host-${cookieName}` : cookieName
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  const checksOf = (secret: string, content: string): Checks => {
    const derived = (use: string) =>
      createHmac('sha256', secret).update(`${use} ${content}`).digest('base64url')
    const state = `${content}.${derived('state')}`
    return { state, nonce: derived('nonce'), verifier: derived('verifier') }
  }
  return {
    begin: (request: IncomingMessage): Checks & { cookie: string } => {
      const secret = cookieOf(request, name) ?? randomBytes(32).toString('base64url')
      const id = randomBytes(16).toString('base64url')
      const content = { id, at: clock(), to: returnPath(queryOf(request).get('return_to')) }
      const text = Buffer.from(JSON.stringify(content)).toString('base64url')
      const cookie = `${name}=${secret}; ${attributes}; Max-Age=${pendingSeconds}`
      return { ...checksOf(secret, text), cookie }
    },
    /** Throws `not_found` for a state that has expired, or that belongs to another browser. */
    find: (request: IncomingMessage, state: string): Checks & { returnTo: string } => {
      const [content = ''] = state.split('.', 1)
      const checks = checksOf(cookieOf(request, name) ?? randomBytes(32).toString('hex'), content)
      if (!timingSafeEqualText(state, checks.state)) throw over()
      // The gateway has made this content, since its digest is right.
      const { at, to } = JSON.parse(Buffer.from(content, 'base64url').toString()) as Content
      if (clock() - at > pendingSeconds * 1000) throw over()
      return { ...checks, returnTo: to }
    },
  }
}

type Content = { id: string; at: number; to: string }

function over(): GatewayError {
  const text =
    'This sign-in has expired or was started in another browser. Start it again; the browser must accept cookies.'
  return new GatewayError('not_found', text)
}

const returnLengthMax = 500
const ownPage = new RegExp(`^(?:${dashboardPath}|${interactionPath})[\\w/?=&%.~+-]*$`)

/** A page of the gateway to continue at, never another site. */
function returnPath(given: string | null): string {
  if (given === null || given.length > returnLengthMax || !ownPage.test(given)) return dashboardPath
  return given
}

function redirect(location: string, cookie: string) {
  const headers = { location, 'set-cookie': cookie, 'cache-control': 'no-store' }
  return { status: 303, headers, pieces: [] }
}

function queryOf({ url = '' }: IncomingMessage): URLSearchParams {
  return new URL(url, 'http://gateway').searchParams
}

/** The answer to an error of a sign-in: a page with a link to the sign-in page. */
export const oidcErrorAnswer: ErrorAnswer = (error) => {
  const { 'www-authenticate': _, ...headers } = errorHeaders(error)
  const content = markup`<p class="alert" role="alert">${error.message}</p>
<p><a class="button" href="${dashboardPath}">Back to the sign-in page</a></p>`
  const status = error.status === 401 ? 403 : error.status
  return pageAnswer({ title: titleOf(error), content, status, headers })
}

function titleOf({ code, status }: GatewayError): string {
  if (code === 'insufficient_scope') return 'No access'
  if (status === 503 || status === 429) return 'Sign-in is not possible now'
  return 'The sign-in failed'
}
