import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'

/** A person at the provider: the claims without `sub`. */
export type ProviderPerson = Readonly<Record<string, unknown>>

type Options = {
  /** The redirect address of the client; any by default. */
  redirectUri?: string
  /** People by subject. */
  people: Record<string, ProviderPerson>
}

/** An OpenID provider on a loopback port: oidc-provider, with a page that signs in `subject` at once. */
export type TestOpenIdProvider = {
  issuer: string
  clientId: string
  clientSecret: string
  people: Record<string, ProviderPerson>
  /** Who signs in next; undefined denies access. */
  subject: string | undefined
  /** Changes the claims of ID tokens before they are signed. */
  change: (claims: ProviderPerson) => ProviderPerson
  /** Changes the answer to the redirect address. */
  redirect: (answer: URL) => void
  /** Whether ID tokens are signed with a key that is not published. */
  forges: boolean
  /** Answers each request with this status; undefined serves. */
  failsWith: number | undefined
  requests: string[]
  stop: () => Promise<void>
}

/**
 * Starts an OpenID provider.
 *
 * @example
 * const provider = await startOpenIdProvider({ redirectUri, people: { ada: { email, email_verified: true } } })
 */
export async function startOpenIdProvider({
  redirectUri,
  people,
}: Options): Promise<TestOpenIdProvider> {
  const [key, other] = [newKey(), newKey()]
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const state: TestOpenIdProvider = {
    issuer: `http://127.0.0.1:${port}`,
    clientId: 'gateway',
    clientSecret: 'a secret of the gateway',
    people,
    subject: Object.keys(people)[0],
    change: (claims) => claims,
    redirect: () => undefined,
    forges: false,
    failsWith: undefined,
    requests: [],
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  const provider = new Provider(state.issuer, {
    clients: [
      {
        client_id: state.clientId,
        client_secret: state.clientSecret,
        redirect_uris: [redirectUri ?? 'http://127.0.0.1/'],
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
    ],
    jwks: { keys: [{ ...key.export({ format: 'jwk' }), alg: 'RS256', kid: 'a-key', use: 'sig' }] },
    cookies: { keys: ['a key'] },
    features: { devInteractions: { enabled: false } },
    pkce: { required: () => true },
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['name'],
      groups: ['groups', 'realm_access'],
    },
    scopes: ['openid', 'email', 'profile', 'groups'],
    ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: () => ({ sub, ...state.people[sub] }),
    }),
    interactions: { url: (_context, { uid }) => `/login/${uid}` },
  })
  if (redirectUri === undefined) provider.Client.prototype.redirectUriAllowed = () => true
  provider.use(async (context, next) => {
    state.requests.push(`${context.method} ${context.path}`)
    if (state.failsWith !== undefined) {
      context.status = state.failsWith
      context.body = 'Out of order.'
      return
    }
    if (context.path.startsWith('/login/')) return logIn()
    await next()
    const { body } = context as { body?: { id_token?: string } }
    if (context.path === '/token' && typeof body?.id_token === 'string')
      body.id_token = signed(body.id_token, state)
    const location = context.response.get('location')
    if (location?.includes('/oauth/sign-in/callback')) {
      const answer = new URL(location)
      state.redirect(answer)
      context.set('location', answer.href)
    }

    async function logIn() {
      const { req, res } = context
      const details = await provider.interactionDetails(req, res)
      context.respond = false
      if (state.subject === undefined) {
        const error_description = 'The person\u202e denied.\nAsk 10.0.0.7.'
        return provider.interactionFinished(req, res, { error: 'access_denied', error_description })
      }
      const grant = new provider.Grant({ accountId: state.subject, clientId: state.clientId })
      grant.addOIDCScope(String(details.params['scope']))
      const grantId = await grant.save()
      const login = { accountId: state.subject, remember: false }
      return provider.interactionFinished(req, res, { login, consent: { grantId } })
    }
  })
  const signed = (token: string, { change, forges }: TestOpenIdProvider) => {
    const [head = '', content = ''] = token.split('.')
    // Claims of an ID token are an object.
    const claims = JSON.parse(Buffer.from(content, 'base64url').toString()) as ProviderPerson
    const changed = Buffer.from(JSON.stringify(change(claims))).toString('base64url')
    const signature = sign('sha256', Buffer.from(`${head}.${changed}`), forges ? other : key)
    return `${head}.${changed}.${signature.toString('base64url')}`
  }
  const serve = provider.callback()
  server.on('request', (request, response) => void serve(request, response))
  return state
}

function newKey(): KeyObject {
  return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
}
