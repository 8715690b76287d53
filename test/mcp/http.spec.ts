import { expect } from 'chai'
import { startGateway, type CallOptions, type TestGateway } from '../support/gateway.ts'
import { postMessages, request, type RpcAnswer } from '../support/mcp-client.ts'

const methods = ['GET', 'POST', 'DELETE', 'PUT', 'PATCH', 'OPTIONS']
const evil = 'https://evil.example'

describe('/mcp over plain HTTP', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway({
      variables: { BASE_URL: 'https://gateway.example' },
      file: { allowed_origins: ['https://app.example', 'tauri://Localhost', 'app://x.y'] },
    })
  })
  after(() => gateway.stop())

  const list = request('tools/list')
  const call = (method: string, init: CallOptions = {}) =>
    gateway.fetch('/mcp', { method, ...init })

  describe('simple requests', () => {
    it('lists the tools for a POST with only a Content-Type', async () => {
      const { response, answer } = await postMessages(gateway, list)
      expect(response.status).to.equal(200)
      expect(response.headers.get('content-type')).to.equal('application/json')
      expect(answer.id).to.equal(1)
      expect((answer.result!['tools'] as { name: string }[]).map(({ name }) => name)).to.deep.equal(
        ['chat', 'generate-image', 'generate-image-preview', 'list-models', 'list-image-models'],
      )
    })

    it('answers a plain GET with the server card', async () => {
      const response = await call('GET')
      const body = (await response.json()) as Record<string, unknown>
      expect(response.status).to.equal(200)
      expect(body['protocolVersion']).to.equal('2024-11-05')
      expect(body).to.have.all.keys(
        'name',
        'version',
        'description',
        'protocolVersion',
        'capabilities',
      )
    })

    it('accepts the key in either header', async () => {
      const headers = { 'x-api-key': gateway.testKey }
      const { response } = await postMessages(gateway, list, { key: null, headers })
      expect(response.status).to.equal(200)
    })
  })

  describe('without a valid key', () => {
    const metadata = 'https://gateway.example/.well-known/oauth-protected-resource/mcp'
    const challenge = `Bearer realm="mcp", resource_metadata="${metadata}", scope="mcp"`

    for (const method of methods) {
      it(`refuses ${method} before anything else`, async () => {
        const headers = { origin: evil, accept: 'text/event-stream' }
        const response = await call(method, { key: null, headers })
        const body = (await response.json()) as RpcAnswer
        expect(response.status).to.equal(401)
        expect(response.headers.get('www-authenticate')).to.equal(challenge)
        expect(body).to.include({ jsonrpc: '2.0', id: null })
        expect(body.error!.code).to.equal(-32001)
      })
    }

    it('reports an invalid key in the challenge', async () => {
      const response = await call('GET', { key: 'mag_test_nonsense' })
      expect(response.status).to.equal(401)
      expect(response.headers.get('www-authenticate')).to.equal(
        `${challenge}, error="invalid_token"`,
      )
    })

    it('does not read a body', async () => {
      const response = await call('POST', { key: null, body: 'x'.repeat(100_000) })
      expect(response.status).to.equal(401)
    })
  })

  describe('methods', () => {
    it('accepts DELETE without a session', async () => {
      const response = await call('DELETE')
      expect([response.status, await response.text()]).to.deep.equal([204, ''])
    })

    for (const method of ['PUT', 'PATCH', 'OPTIONS']) {
      it(`refuses ${method}, with the allowed methods`, async () => {
        const response = await call(method)
        const body = (await response.json()) as RpcAnswer
        expect(response.status).to.equal(405)
        expect(response.headers.get('allow')).to.equal('POST, GET, DELETE')
        expect(body.error!.code).to.equal(-32000)
      })
    }

    it('answers HEAD as GET', async () => {
      const response = await call('HEAD', { headers: { accept: 'text/event-stream' } })
      expect([response.status, await response.text()]).to.deep.equal([200, ''])
    })
  })

  describe('origins', () => {
    for (const origin of [
      evil,
      'null',
      'http://localhost.evil.example',
      'http://127.0.0.1.evil.example',
      'tauri://localhost.evil.example',
      'chrome-extension://abcdefghijklmnop',
    ]) {
      it(`refuses pages of ${origin}`, async () => {
        const { response, answer } = await postMessages(gateway, list, { headers: { origin } })
        expect(response.status).to.equal(403)
        const remedy = origin === 'null' ? 'cannot be allowed' : 'allowed_origins'
        expect(answer.error!.message).to.contain(remedy)
        expect(response.headers.get('access-control-allow-origin')).to.equal(null)
      })
    }

    for (const origin of [
      'tauri://localhost',
      'app://x.y',
      'http://localhost:6274',
      'http://127.0.0.1',
      'http://[::1]:3000',
      'https://gateway.example',
      'https://app.example',
    ]) {
      it(`accepts pages of ${origin}`, async () => {
        const { response } = await postMessages(gateway, list, { headers: { origin } })
        expect(response.status).to.equal(200)
        expect(response.headers.get('access-control-allow-origin')).to.equal(origin)
      })
    }

    it('answers a preflight request', async () => {
      const headers = {
        origin: 'https://app.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type, x-api-key, mcp-protocol-version',
      }
      const response = await call('OPTIONS', { key: null, headers })
      expect(response.status).to.equal(204)
      expect(response.headers.get('access-control-allow-headers')).to.contain(
        'mcp-protocol-version',
      )
    })
  })
})
