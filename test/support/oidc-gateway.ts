import { startGateway, type GatewayOptions, type TestGateway } from './gateway.ts'
import { promisedFetch } from './oauth-promises.ts'
import { startOpenIdProvider, type TestOpenIdProvider } from './openid-provider.ts'

export const publicUrl = 'http://gateway.test'
const redirectUri = `${publicUrl}/oauth/sign-in/callback`
/** The claims of a person with a verified e-mail. */
export const ada = {
  email: 'Ada@Example.com',
  email_verified: true,
  name: 'Ada Lovelace',
  groups: ['/admins'],
}
/** The setting `oidc_roles`. */
export const roles = { owners: 'owner', admins: 'admin', '@partner.example': 'member' } as const

export type OidcBrowser = ReturnType<typeof createBrowser>

/** A browser: cookies of the gateway and of the provider, and the pages that it was sent to. */
export function createBrowser(gateway: Pick<TestGateway, 'url'>) {
  const jars: Record<'gateway' | 'provider', Map<string, string>> = {
    gateway: new Map(),
    provider: new Map(),
  }
  /** Sends one request; addresses of the public host go to the gateway. */
  const ask = async (address: string) => {
    const isOwn = address.startsWith('/') || address.startsWith(publicUrl)
    const jar = jars[isOwn ? 'gateway' : 'provider']
    const cookie = [...jar].map((pair) => pair.join('=')).join('; ')
    const url = isOwn ? gateway.url + address.replace(publicUrl, '') : address
    const answer = await promisedFetch(url, { headers: { cookie }, redirect: 'manual' })
    for (const line of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = line.split(';', 1)[0]!.split('=', 2)
      jar.set(name, value)
    }
    return answer
  }
  /** Follows redirects until `isLast`, or until a page. */
  const open = async (address: string, isLast: (location: string) => boolean = () => false) => {
    let [answer, at] = [await ask(address), address]
    for (;;) {
      const location = answer.headers.get('location')
      if (
        location === null ||
        isLast(location) ||
        /^\/(dashboard|oauth\/interaction)/.test(location)
      )
        return { answer, at, location: location ?? '', text: await answer.text() }
      at = new URL(location, at.startsWith('/') ? publicUrl + at : at).href
      answer = await ask(at)
    }
  }
  const toCallback = (path = '/oauth/sign-in') =>
    open(path, (location) => location.startsWith(redirectUri))
  return { jars, ask, open, toCallback }
}

/** The variables of a gateway that uses the provider. */
export function oidcVariables({ issuer, clientId, clientSecret }: TestOpenIdProvider) {
  return {
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: clientId,
    OIDC_CLIENT_SECRET: clientSecret,
    OIDC_SCOPES: 'openid email profile groups',
  }
}

/** An OpenID provider for each test of the `describe`, and a gateway that `start` starts with it. */
export function useOidc() {
  let gateway: TestGateway | undefined
  let provider: TestOpenIdProvider | undefined
  beforeEach(async () => {
    oidc.nowMs = Date.now()
    provider = await startOpenIdProvider({ redirectUri, people: { 'ada-1': ada } })
  })
  afterEach(async () => {
    await gateway?.stop()
    gateway = undefined
    await provider?.stop()
  })
  const oidc = {
    /** The time of the gateway. */
    nowMs: 0,
    get gateway(): TestGateway {
      return gateway!
    },
    get provider(): TestOpenIdProvider {
      return provider!
    },
    start: async (options: GatewayOptions = {}): Promise<OidcBrowser> => {
      const variables = { BASE_URL: publicUrl, ...oidcVariables(oidc.provider) }
      gateway = await startGateway({
        clock: () => oidc.nowMs,
        ...options,
        variables: { ...variables, ...options.variables },
        file: { oidc_roles: roles, ...options.file },
      })
      return createBrowser(gateway)
    },
    people: () => oidc.gateway.db.selectFrom('people').selectAll().execute(),
    members: () => oidc.gateway.db.selectFrom('members').selectAll().execute(),
    actions: async () => {
      const rows = oidc.gateway.db.selectFrom('audit_events').selectAll().orderBy('id')
      return (await rows.execute()).map(({ action }) => action)
    },
    me: (browser: OidcBrowser): Promise<Response> => {
      const headers = { cookie: `gateway_session=${browser.jars.gateway.get('gateway_session')}` }
      return oidc.gateway.fetch('/api/me', { key: null, headers })
    },
  }
  return oidc
}
