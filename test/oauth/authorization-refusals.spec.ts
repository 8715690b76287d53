import { expect } from 'chai'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import {
  authorize,
  callback,
  getAs,
  postForm,
  registered,
  type Registered,
} from '../support/oauth-client.ts'

describe('an authorization request', () => {
  let gateway: TestGateway
  let client: Registered
  before(async () => {
    gateway = await startGateway()
    client = await registered(gateway, {
      redirect_uris: [callback, 'http://localhost/cb', 'https://app.example/cb'],
    })
  })
  after(() => gateway.stop())

  const ask = (changes: Record<string, string | undefined>) =>
    authorize(gateway, client.client_id, changes)

  describe('with an unverified client or address is refused on a page without a redirect', () => {
    const cases: [name: string, changes: Record<string, string | undefined>][] = [
      ['an unknown client', { client_id: 'nobody' }],
      ['no client', { client_id: undefined }],
      ['another address', { redirect_uri: 'https://evil.example/cb' }],
      ['another path', { redirect_uri: 'https://app.example/cb/../evil' }],
      ['a longer path', { redirect_uri: 'https://app.example/cb/' }],
      ['a query', { redirect_uri: 'https://app.example/cb?next=https://evil.example' }],
      [
        'another host with the right one as its prefix',
        { redirect_uri: 'https://app.example.evil.example/cb' },
      ],
      ['another scheme', { redirect_uri: 'http://app.example/cb' }],
      ['capitals', { redirect_uri: 'https://APP.example/cb' }],
      [
        'another port of a host that is not loopback',
        { redirect_uri: 'https://app.example:444/cb' },
      ],
      ['another loopback address', { redirect_uri: 'http://[::1]:33418/callback' }],
      ['a script', { redirect_uri: 'javascript:alert(1)' }],
      ['an invalid address', { redirect_uri: 'x y' }],
      ['no address, though the client has several', { redirect_uri: undefined }],
      ['HTML for an address', { redirect_uri: '"><script>alert(1)</script>' }],
      ['HTML for a client', { client_id: '"><script>alert(1)</script>' }],
    ]
    for (const [name, changes] of cases) {
      it(name, async () => {
        const answer = await ask(changes)
        const text = await answer.text()
        expect(answer.status, text).to.equal(400)
        expect(answer.headers.get('location')).to.equal(null)
        expect(answer.headers.get('cache-control')).to.equal('no-store')
        expect(text).to.not.include('<script>').and.to.not.include('evil.example')
      })
    }

    it('no address, though the client has only one', async () => {
      const { client_id: id } = await registered(gateway)
      const answer = await ask({ client_id: id, redirect_uri: undefined })
      expect(answer.status).to.equal(400)
      expect(await answer.json()).to.include({ error: 'invalid_request' })
    })

    it('as a page for a browser, and as an OAuth error in JSON for a program', async () => {
      const url = `${gateway.url}/oauth/authorize?client_id=nobody&redirect_uri=https://evil.example`
      const page = await getAs(url, { accept: 'text/html' })
      expect(page.headers['content-type']).to.include('text/html')
      expect(page.headers['content-security-policy']).to.include("frame-ancestors 'none'")
      expect(page.text).to.include('invalid_client').and.to.not.include('evil.example')
      // Claude Code and mcp-remote repeat the id that they have stored.
      expect(page.text).to.include('claude mcp logout NAME').and.to.include('~/.mcp-auth')
      const json = await getAs(url, { accept: 'application/json' })
      expect(JSON.parse(json.text)).to.include({ error: 'invalid_client' })
    })
  })

  describe('is refused by a redirect to its client, with state and issuer', () => {
    const cases: [name: string, changes: Record<string, string | undefined>, error: string][] = [
      [
        'without PKCE',
        { code_challenge: undefined, code_challenge_method: undefined },
        'invalid_request',
      ],
      ['with the PKCE method plain', { code_challenge_method: 'plain' }, 'invalid_request'],
      [
        'without a PKCE method, which means plain',
        { code_challenge_method: undefined },
        'invalid_request',
      ],
      ['with an invalid challenge', { code_challenge: 'short' }, 'invalid_request'],
      ['for another resource', { resource: 'https://evil.example/mcp' }, 'invalid_target'],
      [
        'for the tool server on another port',
        { resource: 'http://127.0.0.1/mcp' },
        'invalid_target',
      ],
      ['for an invalid resource', { resource: 'mcp' }, 'invalid_target'],
      ['for the response type token', { response_type: 'token' }, 'unsupported_response_type'],
      ['without a response type', { response_type: undefined }, 'invalid_request'],
      ['for the scope of administrators', { scope: 'mcp admin' }, 'invalid_scope'],
      ['for the scope of keys', { scope: 'keys:write' }, 'invalid_scope'],
      ['with prompt=none', { prompt: 'none' }, 'login_required'],
      ['with a request object', { request: 'eyJhbGciOiJub25lIn0.e30.' }, 'request_not_supported'],
      [
        'with the address of a request object',
        { request_uri: 'https://evil.example/r' },
        'request_uri_not_supported',
      ],
    ]
    for (const [name, changes, error] of cases) {
      it(name, async () => {
        const answer = await ask(changes)
        expect(answer.status, await answer.text()).to.equal(303)
        const { origin, pathname, search, hash } = new URL(answer.headers.get('location')!)
        // For response types other than `code`, the redirect returns errors in the fragment.
        const searchParams = new URLSearchParams(search || hash.slice(1))
        expect(origin + pathname).to.equal(callback)
        expect(searchParams.get('error')).to.equal(error)
        expect(searchParams.get('state')).to.equal('a state')
        expect(searchParams.get('iss')).to.equal(gateway.url)
        expect(searchParams.get('code')).to.equal(null)
      })
    }
  })

  describe('redirects to the sign-in page', () => {
    const cases: [name: string, changes: Record<string, string | undefined>][] = [
      ['without scope and resource', {}],
      ['for the tool server', { resource: '/mcp' }],
      ['for the tool server with a slash', { resource: '/mcp/' }],
      ['for the gateway', { resource: '' }],
      ['for the gateway with a slash', { resource: '/' }],
      [
        'with scopes of OpenID',
        { scope: 'openid profile email offline_access', nonce: 'x', max_age: '0' },
      ],
      ['with a scope of the client', { scope: 'claudeai' }],
      ['with another port of this machine', { redirect_uri: 'http://127.0.0.1:1/callback' }],
      ['with a port of localhost', { redirect_uri: 'http://localhost:54321/cb' }],
      ['with unknown values of prompt', { prompt: 'consent select_account' }],
    ]
    for (const [name, { resource, ...changes }] of cases) {
      it(name, async () => {
        const answer = await ask({
          ...changes,
          ...(resource === undefined ? {} : { resource: gateway.url + resource }),
        })
        expect(answer.status).to.equal(303)
        expect(answer.headers.get('location')).to.match(/^\/oauth\/interaction\/[\w-]{43}$/)
        const cookies = answer.headers.getSetCookie()
        expect(cookies).to.have.length.greaterThan(1)
        for (const cookie of cookies) expect(cookie).to.match(/; samesite=lax; httponly$/)
      })
    }

    it('from the path /authorize of older clients, and from a form', async () => {
      const query = queryOf()
      const old = await fetch(`${gateway.url}/authorize?${query}`, { redirect: 'manual' })
      expect(old.headers.get('location')).to.match(/^\/oauth\/interaction\//)
      const form = await fetch(`${gateway.url}/oauth/authorize`, {
        method: 'POST',
        body: new URLSearchParams(query),
        redirect: 'manual',
      })
      expect(form.headers.get('location')).to.match(/^\/oauth\/interaction\//)
    })

    it('with an https BASE_URL, with secure cookies, whatever the request headers say', async () => {
      await using secured = await startGateway({
        variables: { BASE_URL: 'https://gateway.example' },
      })
      const { client_id: id } = await registered(secured)
      const query = queryOf(id)
      const { status, headers } = await getAs(`${secured.url}/oauth/authorize?${query}`, {
        host: 'evil.example',
        'x-forwarded-proto': 'http',
        'x-forwarded-host': 'evil.example',
      })
      expect(status).to.equal(303)
      expect(headers['location']).to.match(/^\/oauth\/interaction\//)
      for (const cookie of headers['set-cookie']!) {
        expect(cookie)
          .to.match(/; secure; httponly$/)
          .and.to.not.include('evil')
      }
      const refused = await getAs(`${secured.url}/oauth/authorize?${query}&prompt=none`, {})
      const { searchParams } = new URL(refused.headers['location']!)
      expect(searchParams.get('iss')).to.equal('https://gateway.example')
    })

    const queryOf = (id = client.client_id): string =>
      String(
        new URLSearchParams({
          response_type: 'code',
          client_id: id,
          redirect_uri: callback,
          code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
          code_challenge_method: 'S256',
        }),
      )
  })

  it('fails with an OAuth error while the store fails, without details of the store', async () => {
    await using broken = await startGateway()
    const { client_id: id } = await registered(broken)
    await broken.db.schema.dropTable('oauth_artifacts').execute()
    const asked = await authorize(broken, id)
    const fields = { grant_type: 'refresh_token', client_id: id, refresh_token: 'mag_refresh_x' }
    for (const answer of [asked, await postForm(broken, '/oauth/token', fields)]) {
      const text = await answer.text()
      expect(answer.status).to.be.oneOf([303, 500])
      const reported = answer.headers.get('location') ?? text
      expect(reported).to.include('server_error').and.to.not.include('oauth_artifacts')
    }
    expect(broken.logText()).to.include('oauth_artifacts')
  })

  it('cannot be resumed by a browser that did not start it', async () => {
    const answer = await ask({})
    const uid = answer.headers.get('location')!.split('/').at(-1)!
    const resumed = await fetch(`${gateway.url}/oauth/authorize/${uid}`, { redirect: 'manual' })
    expect(resumed.status).to.equal(400)
    expect(resumed.headers.get('location')).to.equal(null)
  })

  describe('cannot be followed by a token request', () => {
    const cases: [name: string, fields: Record<string, string>, status: number, error: string][] = [
      ['without a grant', {}, 400, 'invalid_request'],
      [
        'for an unsupported grant',
        { grant_type: 'password', username: 'a', password: 'b' },
        400,
        'unsupported_grant_type',
      ],
      [
        'for an unknown code',
        {
          grant_type: 'authorization_code',
          code: 'mag_code_x',
          redirect_uri: callback,
          code_verifier: 'x'.repeat(43),
        },
        400,
        'invalid_grant',
      ],
      [
        'for an unknown refresh token',
        { grant_type: 'refresh_token', refresh_token: 'mag_refresh_x' },
        400,
        'invalid_grant',
      ],
      [
        'with client_credentials of a client that registered itself',
        { grant_type: 'client_credentials' },
        400,
        'unauthorized_client',
      ],
      [
        'for an unknown client',
        { grant_type: 'client_credentials', client_id: 'nobody', client_secret: 'x' },
        401,
        'invalid_client',
      ],
    ]
    for (const [name, fields, status, error] of cases) {
      it(name, async () => {
        const answer = await postForm(gateway, '/oauth/token', {
          client_id: client.client_id,
          ...fields,
        })
        const refusal = (await answer.json()) as Record<string, string>
        expect(answer.status, JSON.stringify(refusal)).to.equal(status)
        expect(refusal['error']).to.equal(error)
        expect(answer.headers.get('cache-control')).to.equal('no-store')
      })
    }

    it('with JSON instead of a form', async () => {
      const answer = await fetch(`${gateway.url}/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"grant_type":"authorization_code"}',
      })
      expect(answer.status).to.equal(415)
      expect(await answer.json()).to.include({ error: 'invalid_request' })
    })
  })
})
