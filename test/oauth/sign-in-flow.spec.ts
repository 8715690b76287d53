import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect } from 'chai'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import {
  callback,
  createPkce,
  postForm,
  registered,
  type Pkce,
  type Registered,
} from '../support/oauth-client.ts'
import { approveClient } from '../support/oauth-person.ts'
import { createTestProvider, type TestProvider } from '../support/oauth-provider.ts'
import { startPublicHost } from '../support/public-host.ts'

type Tokens = { access_token: string; refresh_token: string; scope?: string; expires_in: number }

describe('a client that signs a person in', () => {
  let gateway: TestGateway
  let aheadMs = 0
  before(async () => {
    gateway = await startGateway({
      clock: () => Date.now() + aheadMs,
      monotonic: () => performance.now() + aheadMs,
      file: { limits: { oauth_registrations_per_hour_max: 1000 } },
      bounds: { oauthRefreshGraceSeconds: 0 },
    })
  })
  after(() => gateway.stop())

  /** Connects with the SDK and completes the sign-in. */
  const connect = async (at: TestGateway, provider: TestProvider): Promise<Client> => {
    const transport = () =>
      new StreamableHTTPClientTransport(new URL(`${at.url}/mcp`), { authProvider: provider })
    const first = transport()
    const refused = await new Client({ name: 'test', version: '1' })
      .connect(first)
      .catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(UnauthorizedError)
    const { searchParams } = await approveClient(at, provider.sentTo!)
    expect(searchParams.get('iss')).to.equal(at.url)
    await first.finishAuth(searchParams.get('code')!)
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(transport())
    return client
  }

  it('finds the server, registers, gets a token, calls, and refreshes, with the SDK', async () => {
    const provider = createTestProvider()
    const client = await connect(gateway, provider)
    expect(provider.sentTo!.searchParams.get('resource')).to.equal(`${gateway.url}/mcp`)
    expect(provider.sentTo!.searchParams.get('code_challenge_method')).to.equal('S256')
    const { access_token: access, refresh_token: refresh } = provider.kept.tokens!
    expect(access).to.match(/^mag_oauth_[\w-]{43}$/)
    expect(refresh).to.match(/^mag_refresh_[\w-]{43}$/)
    expect((await client.listTools()).tools).to.have.length.greaterThan(4)
    provider.kept.tokens = { ...provider.kept.tokens!, access_token: 'mag_oauth_over' }
    expect((await client.listTools()).tools).to.have.length.greaterThan(4)
    expect(provider.kept.tokens.access_token).to.not.be.oneOf([access, 'mag_oauth_over'])
    expect(provider.kept.tokens.refresh_token).to.not.equal(refresh)
    await client.close()
  })

  it('does so without a registration if it publishes a document', async () => {
    const host = await startPublicHost()
    await using own = await startGateway({ publicNet: host.net })
    const id = host.address('/client.json', 'app.public.example')
    const document = { client_id: id, client_name: 'App', redirect_uris: [callback] }
    host.serve('/client.json', Buffer.from(JSON.stringify(document)))
    const provider = createTestProvider(id)
    const client = await connect(own, provider)
    expect(provider.kept.client!.client_id).to.equal(id)
    expect((await client.listTools()).tools).to.have.length.greaterThan(4)
    await client.close()
    await host.stop()
  })

  describe('by hand', () => {
    let client: Registered
    let pkce: Pkce
    before(async () => {
      client = await registered(gateway)
    })
    beforeEach(() => {
      pkce = createPkce()
    })

    const newCode = async (by = client, changes: Record<string, string> = {}): Promise<string> => {
      const asked = { code_challenge: pkce.challenge, ...changes }
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: by.client_id,
        redirect_uri: callback,
        code_challenge_method: 'S256',
        ...asked,
      })
      const back = await approveClient(gateway, `/oauth/authorize?${String(query)}`)
      return back.searchParams.get('code')!
    }
    const exchange = (code: string, changes: Record<string, string> = {}, headers = {}) =>
      postForm(
        gateway,
        '/oauth/token',
        {
          grant_type: 'authorization_code',
          client_id: client.client_id,
          code,
          redirect_uri: callback,
          code_verifier: pkce.verifier,
          ...changes,
        },
        headers,
      )
    const tokensOf = async (answer: Response): Promise<Tokens> => {
      const tokens = (await answer.json()) as Tokens
      expect(answer.status, JSON.stringify(tokens)).to.equal(200)
      return tokens
    }
    const expectRefused = async (answer: Response, error: string) => {
      const refusal = (await answer.json()) as { error: string }
      expect(refusal.error, JSON.stringify(refusal)).to.equal(error)
      expect(answer.status).to.equal(400)
      expect(answer.headers.get('cache-control')).to.equal('no-store')
    }
    const listModels = async (key: string) => (await gateway.fetch('/v1/models', { key })).status
    const refreshed = (token: string, changes: Record<string, string> = {}) =>
      postForm(gateway, '/oauth/token', {
        grant_type: 'refresh_token',
        client_id: client.client_id,
        refresh_token: token,
        ...changes,
      })

    it('gets tokens for the tool server with each accepted spelling of the resource', async () => {
      for (const path of ['/mcp', '/mcp/', '', '/']) {
        const code = await newCode(client, { resource: gateway.url + path })
        expect(code).to.match(/^mag_code_/)
        const answer = await exchange(code, { resource: `${gateway.url}/mcp` })
        expect(answer.headers.get('cache-control')).to.equal('no-store')
        const { access_token: token, expires_in: expiresIn, scope } = await tokensOf(answer)
        expect({ expiresIn, scope }).to.deep.equal({ expiresIn: 3600, scope: 'mcp' })
        expect(await listModels(token)).to.equal(200)
      }
    })

    const wrong: [name: string, changes: () => Record<string, string>, error: string][] = [
      ['with another verifier', () => ({ code_verifier: createPkce().verifier }), 'invalid_grant'],
      ['without a verifier', () => ({ code_verifier: '' }), 'invalid_grant'],
      [
        'with the challenge as verifier',
        () => ({ code_verifier: pkce.challenge }),
        'invalid_grant',
      ],
      [
        'with another address',
        () => ({ redirect_uri: 'http://127.0.0.1:1/callback' }),
        'invalid_grant',
      ],
      ['without the redirect address', () => ({ redirect_uri: '' }), 'invalid_request'],
      ['for another resource', () => ({ resource: 'https://evil.example/mcp' }), 'invalid_target'],
    ]
    for (const [name, changes, error] of wrong) {
      it(`gets no tokens for a code ${name}`, async () => {
        await expectRefused(await exchange(await newCode(), changes()), error)
      })
    }

    it('gets no tokens for the code of another client', async () => {
      const code = await newCode()
      const other = await registered(gateway)
      await expectRefused(await exchange(code, { client_id: other.client_id }), 'invalid_grant')
    })

    it('gets no tokens for a used code, and its earlier tokens are revoked', async () => {
      const code = await newCode()
      const { access_token: token } = await tokensOf(await exchange(code))
      expect(await listModels(token)).to.equal(200)
      await expectRefused(await exchange(code), 'invalid_grant')
      expect(await listModels(token)).to.equal(401)
    })

    it('gets tokens from exactly one of four concurrent exchanges of a code', async () => {
      for (let time = 0; time < 40; time++) await exchangeAtOnce()
    })
    const exchangeAtOnce = async () => {
      const code = await newCode()
      const answers = await Promise.all([1, 2, 3, 4].map(() => exchange(code)))
      const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
      expect(statuses).to.deep.equal([200, 400, 400, 400])
      const { access_token: token } = await tokensOf(answers.find(({ status }) => status === 200)!)
      expect(await listModels(token)).to.equal(200)
    }

    it('cannot extend scope or resource with a refresh token', async () => {
      const { refresh_token: token } = await tokensOf(await exchange(await newCode()))
      await expectRefused(await refreshed(token, { scope: 'mcp admin' }), 'invalid_scope')
      await expectRefused(
        await refreshed(token, { resource: 'https://evil.example' }),
        'invalid_target',
      )
      await tokensOf(await refreshed(token, { scope: 'mcp' }))
    })

    it('may request offline_access at the sign-in and at each refresh', async () => {
      const asked = { scope: 'mcp offline_access' }
      let tokens = await tokensOf(await exchange(await newCode(client, asked)))
      // Gemini CLI asks again for the scopes that the sign-in did not grant.
      const again = [{ scope: 'openid profile mcp offline_access' }, { scope: 'openid' }]
      for (const changes of [asked, {}, { scope: 'mcp' }, ...again]) {
        tokens = await tokensOf(await refreshed(tokens.refresh_token, changes))
        expect(tokens.scope).to.equal('mcp')
        expect(await listModels(tokens.access_token)).to.equal(200)
      }
    })

    it('may request offline_access only at a refresh', async () => {
      const { refresh_token: token } = await tokensOf(await exchange(await newCode()))
      await tokensOf(await refreshed(token, { scope: 'mcp offline_access' }))
    })

    it('loses the connection when a refresh token is used again', async () => {
      const first = await tokensOf(await exchange(await newCode()))
      const second = await tokensOf(await refreshed(first.refresh_token))
      await expectRefused(await refreshed(first.refresh_token), 'invalid_grant')
      await expectRefused(await refreshed(second.refresh_token), 'invalid_grant')
      expect(await listModels(second.access_token)).to.equal(401)
    })

    it('revokes its own connection and introspects only its own tokens', async () => {
      const { access_token: token, refresh_token: refresh } = await tokensOf(
        await exchange(await newCode()),
      )
      const ask = async (by: Registered) => {
        const fields = { client_id: by.client_id, token }
        return (await postForm(gateway, '/oauth/introspect', fields)).json()
      }
      const other = await registered(gateway)
      expect(await ask(client)).to.deep.include({
        active: true,
        client_id: client.client_id,
        scope: 'mcp',
      })
      expect(await ask(other)).to.deep.equal({ active: false })
      const foreign = { client_id: other.client_id, token: refresh }
      expect((await postForm(gateway, '/oauth/revoke', foreign)).status).to.equal(200)
      expect(await listModels(token)).to.equal(200)
      const own = { client_id: client.client_id, token: refresh }
      expect((await postForm(gateway, '/oauth/revoke', own)).status).to.equal(200)
      expect(await listModels(token)).to.equal(401)
      expect(await ask(client)).to.deep.equal({ active: false })
    })

    it('authenticates with its secret if it has one', async () => {
      const secret = await registered(gateway, {
        token_endpoint_auth_method: 'client_secret_basic',
      })
      const basic = (text: string) => ({
        authorization: `Basic ${Buffer.from(`${secret.client_id}:${text}`).toString('base64')}`,
      })
      const code = await newCode(secret)
      const denied = await exchange(code, { client_id: secret.client_id }, basic('wrong'))
      expect(denied.status).to.equal(401)
      expect(await denied.json()).to.include({ error: 'invalid_client' })
      const given = { client_id: secret.client_id }
      await tokensOf(await exchange(code, given, basic(secret.client_secret!)))
    })
  })
})
