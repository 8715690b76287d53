import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect } from 'chai'
import { keyRemedy } from '../../src/core/words/remedies.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'

type Refusal = { error: string; error_description: string }

const metadata = { client_name: 'A client', redirect_uris: ['http://127.0.0.1:9/callback'] }
const unknownKey = `mag_live_${'A'.repeat(49)}`

describe('a client without a browser', () => {
  let gateway: TestGateway
  before(async () => (gateway = await startGateway()))
  after(() => gateway.stop())

  const register = (headers: Record<string, string>, body: object = metadata) =>
    gateway.post('/oauth/register', body, { key: null, headers })
  const expectRefused = async (answer: Response, status: number, error: string) => {
    const text = await answer.text()
    expect(answer.status, text).to.equal(status)
    const refusal = JSON.parse(text) as Refusal
    expect(refusal.error).to.equal(error)
    expect(refusal.error_description).to.contain(keyRemedy)
    // The characters that RFC 6749 section 5.2 allows.
    expect(refusal.error_description).to.match(/^[ !#-[\]-~]+$/)
    return refusal.error_description
  }

  for (const [name, headers] of [
    ['authorization', { authorization: `Bearer ${unknownKey}` }],
    ['authorization of another product', { authorization: 'Bearer sk-12345' }],
    ['x-api-key', { 'x-api-key': unknownKey }],
  ] as [string, Record<string, string>][]) {
    it(`gets an error for the wrong key in ${name}, and no sign-in`, async () => {
      const message = await expectRefused(await register(headers), 401, 'invalid_token')
      expect(message).to.not.contain('Without OAuth')
      let opened = false
      const client = new Client({ name: 'A client', version: '1' })
      const transport = new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), {
        requestInit: { headers },
        authProvider: {
          redirectUrl: metadata.redirect_uris[0]!,
          clientMetadata: metadata,
          clientInformation: () => undefined,
          saveClientInformation: () => undefined,
          tokens: () => undefined,
          saveTokens: () => undefined,
          redirectToAuthorization: () => void (opened = true),
          saveCodeVerifier: () => undefined,
          codeVerifier: () => '',
        },
      })
      const failed = await client.connect(transport).catch((error: unknown) => error)
      expect((failed as Error).message).to.equal(message)
      expect(opened).to.equal(false)
    })
  }

  it('registers with a valid key, an expired token, a password of a proxy, or no credentials', async () => {
    for (const headers of [
      { 'x-api-key': gateway.testKey },
      { authorization: `Bearer ${gateway.testKey}` },
      { authorization: 'Bearer mag_oauth_over' },
      { authorization: `Basic ${btoa('proxy:password')}` },
      {},
    ] as Record<string, string>[]) {
      expect((await register(headers)).status).to.equal(201)
    }
  })

  it('finds how to use an API key in each OAuth error', async () => {
    const form = (path: string, body: string) =>
      gateway.fetch(path, {
        key: null,
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body,
      })
    const get = (path: string) => gateway.fetch(path, { key: null })
    const bad = { ...metadata, redirect_uris: ['javascript:alert("x")'] }
    await expectRefused(await register({}, bad), 400, 'invalid_redirect_uri')
    await expectRefused(await get('/oauth/token'), 405, 'invalid_request')
    await expectRefused(await get('/oauth/nothing'), 404, 'invalid_request')
    await expectRefused(await get('/.well-known/openid-federation'), 404, 'invalid_request')
    await expectRefused(
      await get('/.well-known/oauth-authorization-server/sse'),
      404,
      'invalid_request',
    )
    const unknown = 'grant_type=client_credentials&client_id=client_none&client_secret=x'
    await expectRefused(await form('/oauth/token', unknown), 401, 'invalid_client')
    await expectRefused(await form('/oauth/token', 'grant_type=password'), 400, 'invalid_request')
    await expectRefused(await form('/oauth/revoke', 'token=x&client_id=y'), 401, 'invalid_client')
    await expectRefused(await form('/oauth/introspect', 'token=x'), 400, 'invalid_request')
  })
})
