import { expect } from 'chai'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { ClientCredentialsProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { keyRemedy } from '../../src/core/words/remedies.ts'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { keyCalls, type MadeKey } from '../support/key-calls.ts'
import { expectNoAdministration } from '../support/no-administration.ts'
import { postForm } from '../support/oauth-client.ts'

type Token = { access_token: string; expires_in: number; token_type: string; scope?: string }
type Refusal = { error: string; error_description: string }
type How = 'basic' | 'post'

forEachStore('client credentials', () => {
  let gateway: TestGateway
  const begin = Date.parse('2026-11-22T12:00:00Z')
  let now = begin
  before(async () => {
    const bounds = { keyCacheMs: 0 }
    gateway = await startGateway({ clock: () => now, bounds })
  })
  after(() => gateway.stop())
  beforeEach(() => void (now = begin))
  const made = (settings: object = {}) =>
    keyCalls(gateway).made(gateway.adminKey, { kind: 'client', ...settings })
  const ask = (
    { client_id: id = '', client_secret: secret = '' }: Partial<MadeKey>,
    { how = 'basic', ...parameters }: { how?: How } & Record<string, string> = {},
  ) => {
    const form = new URLSearchParams({ grant_type: 'client_credentials', ...parameters })
    if (how === 'post') {
      form.set('client_id', id)
      form.set('client_secret', secret)
    }
    const authorization = `Basic ${btoa(`${encodeURIComponent(id)}:${secret}`)}`
    return gateway.fetch('/oauth/token', {
      method: 'POST',
      key: null,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        ...(how === 'post' ? {} : { authorization }),
      },
      body: form.toString(),
    })
  }
  const tokenOf = async (client: MadeKey, parameters?: Parameters<typeof ask>[1]) => {
    const answer = await ask(client, parameters)
    const text = await answer.text()
    expect(answer.status, text).to.equal(200)
    return JSON.parse(text) as Token
  }
  const expectRefused = async (answer: Response, status: number, error: string) => {
    const text = await answer.text()
    expect(answer.status, text).to.equal(status)
    const refusal = JSON.parse(text) as Refusal
    expect(refusal.error, text).to.equal(error)
    return refusal.error_description
  }

  for (const how of ['basic', 'post'] as const) {
    it(`return a token for one hour, by ${how}, with the client's rights`, async () => {
      const client = await made({ models: ['gpt-5-mini'] })
      const token = await tokenOf(client, { how })
      expect(token).to.deep.include({ token_type: 'Bearer', expires_in: 3600 })
      expect(token.access_token).to.match(/^mag_oauth_/)
      const messages = [{ role: 'user', content: 'hello' }]
      const key = token.access_token
      const chat = (model: string) =>
        gateway.post('/v1/chat/completions', { model, messages }, { key })
      expect((await chat('gpt-5-mini')).status).to.equal(200)
      await expectError(await chat('gpt-5'), { status: 403, code: 'model_not_allowed' })
      const row = (await gateway.usage()).find((one) => one.key_id === client.id)
      expect(row).to.deep.include({ model: 'gpt-5-mini', mode: 'test' })
      const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
      expect((await gateway.post('/mcp', list, { key })).status).to.equal(200)
    })
  }

  for (const path of ['token', 'revoke', 'introspect', 'register']) {
    it(`answers errors of /oauth/${path} as JSON, whatever Accept says`, async () => {
      const answer = await gateway.fetch(`/oauth/${path}`, {
        method: 'POST',
        key: null,
        headers: {
          accept: 'text/html',
          'content-type':
            path === 'register' ? 'application/json' : 'application/x-www-form-urlencoded',
        },
        body: path === 'register' ? '{}' : 'grant_type=authorization_code&client_id=nobody&token=a',
      })
      const text = await answer.text()
      expect(answer.status, text).to.be.within(400, 401)
      expect(answer.headers.get('content-type')).to.match(/^application\/json/)
      expect(JSON.parse(text)).to.have.property('error')
    })
  }

  it('work with the client of the SDK, which needs only the address', async () => {
    const { client_id: clientId, client_secret: clientSecret } = await made()
    const authProvider = new ClientCredentialsProvider({
      clientId: clientId!,
      clientSecret: clientSecret!,
      expectedIssuer: gateway.url,
    })
    const client = new Client({ name: 'service', version: '1' })
    const transport = new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), {
      authProvider,
    })
    await client.connect(transport)
    expect((await client.listTools()).tools.length).to.be.above(3)
    await client.close()
  })

  it('are refused with the errors of RFC 6749', async () => {
    const client = await made()
    const other = await made()
    const wrong = { ...client, client_secret: other.client_secret! }
    for (const how of ['basic', 'post'] as const) {
      await expectRefused(await ask(wrong, { how }), 401, 'invalid_client')
      const unknown = { ...client, client_id: 'client_none' }
      await expectRefused(await ask(unknown, { how }), 401, 'invalid_client')
    }
    const asKey = { client_id: client.client_id!, client_secret: gateway.adminKey }
    await expectRefused(await ask(asKey), 401, 'invalid_client')
    const elsewhere = { resource: 'https://other.example/mcp' }
    await expectRefused(await ask(client, elsewhere), 400, 'invalid_target')
    const code = { grant_type: 'authorization_code', code: 'x', redirect_uri: 'https://a.example' }
    await expectRefused(await ask(client, code), 400, 'unauthorized_client')
  })

  for (const path of ['/oauth/token', '/oauth/revoke', '/oauth/introspect']) {
    it(`cannot be guessed at ${path}, where failed attempts are slowed down`, async () => {
      const client = await made()
      const asked = { grant_type: 'client_credentials', token: 'mag_oauth_none' }
      const guess = (secret: string, how: How, id = client.client_id!) =>
        how === 'post'
          ? postForm(gateway, path, { ...asked, client_id: id, client_secret: secret })
          : postForm(gateway, path, asked, { authorization: `Basic ${btoa(`${id}:${secret}`)}` })
      const right = client.client_secret!
      const expectTaken = async (answer: Response) =>
        expect(answer.status, await answer.text()).to.equal(200)
      for (let times = 0; times < 6; times++) await expectTaken(await guess(right, 'post'))
      for (const how of ['basic', 'post', 'basic', 'post', 'basic'] as const) {
        const twice = { authorization: `Basic ${btoa(`${client.client_id}:wrong`)}` }
        const both = { ...asked, client_id: client.client_id!, client_secret: 'wrong' }
        await expectRefused(await postForm(gateway, path, both, twice), 400, 'invalid_request')
        await expectRefused(await guess('wrong', how), 401, 'invalid_client')
      }
      for (const how of ['basic', 'post'] as const) {
        const slowed = await guess(right, how)
        expect(slowed.headers.get('retry-after')).to.equal('1')
        const text = await expectRefused(slowed, 429, 'temporarily_unavailable')
        expect(text).to.contain('too many attempts')
      }
      const other = await made()
      await expectTaken(await guess(other.client_secret!, 'basic', other.client_id))
      now += 1000
      await expectTaken(await guess(right, 'post'))
      await expectRefused(await guess('wrong', 'post'), 401, 'invalid_client')
    })
  }

  it('cannot be guessed by concurrent attempts, which are counted before they are checked', async () => {
    const client = await made()
    const { client_secret: right, ...wrong } = client
    const statuses = async (secret: string, count: number) => {
      const all = await Promise.all(
        Array.from({ length: count }, () => ask({ ...wrong, client_secret: secret })),
      )
      const found = Map.groupBy(all, ({ status }) => status)
      return Object.fromEntries([...found].map(([status, { length }]) => [status, length]))
    }
    expect(await statuses(right!, 40)).to.deep.equal({ 200: 40 })
    expect(await statuses('wrong', 100)).to.deep.equal({ 401: 5, 429: 95 })
    expect(await statuses(right!, 1)).to.deep.equal({ 429: 1 })
    now += 60_000
    expect(await statuses(right!, 40)).to.deep.equal({ 200: 40 })
  })

  it('end with the revocation of the client, as do its tokens', async () => {
    const client = await made()
    const { access_token: key } = await tokenOf(client)
    expect((await gateway.fetch('/v1/models', { key })).status).to.equal(200)
    await keyCalls(gateway).revoke(gateway.adminKey, client.id)
    const refused = await gateway.fetch('/v1/models', { key })
    const { message } = await expectError(refused, { status: 401, code: 'invalid_token' })
    expect(message).to.contain(keyRemedy)
    await expectRefused(await ask(client), 401, 'invalid_client')
  })

  it('work with the old and the new secret until the overlap ends', async () => {
    const first = await made()
    const { access_token: early } = await tokenOf(first)
    const next = await keyCalls(gateway).rotated(gateway.adminKey, first.id, 10)
    for (const client of [first, next]) await tokenOf(client)
    expect((await gateway.fetch('/v1/models', { key: early })).status).to.equal(200)
    now += 10 * 60_000
    await expectRefused(await ask(first), 401, 'invalid_client')
    expect((await gateway.fetch('/v1/models', { key: early })).status).to.equal(401)
    const { access_token: late } = await tokenOf(next)
    expect((await gateway.fetch('/v1/models', { key: late })).status).to.equal(200)
  })

  it('return the scope of the tool server whatever scope of another server is asked for', async () => {
    const client = await made()
    for (const scope of ['', 'api://gateway/.default', 'openid mcp', 'read write']) {
      const token = await tokenOf(client, { scope })
      expect(token.scope, scope).to.equal('mcp')
      const key = token.access_token
      expect((await gateway.fetch('/v1/models', { key })).status).to.equal(200)
    }
    await expectRefused(await ask(client, { scope: 'mcp admin' }), 400, 'invalid_scope')
  })

  it('end when the client expires', async () => {
    const client = await made({ expires_at: new Date(begin + 60_000).toISOString() })
    const { access_token: key } = await tokenOf(client)
    now += 60_000
    expect((await gateway.fetch('/v1/models', { key })).status).to.equal(401)
    await expectRefused(await ask(client), 401, 'invalid_client')
  })

  it('give no access to administration: operations of /api that need a scope are refused', async () => {
    const { access_token: key } = await tokenOf(await made())
    await expectNoAdministration(gateway, key)
  })
})
