import { expect } from 'chai'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { hello } from '../support/own-endpoint.ts'

const origin = 'https://app.example.com'
const path = '/v1/chat/completions'

describe('pages of other origins', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())
  const preflight = (headers: Record<string, string>) =>
    gateway.fetch(path, { method: 'OPTIONS', key: null, headers: { origin, ...headers } })

  it('may send a preflight request without a key', async () => {
    const response = await preflight({
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization, content-type, x-stainless-lang',
    })
    expect(response.status).to.equal(204)
    expect(response.headers.get('access-control-allow-origin')).to.equal('*')
    expect(response.headers.get('access-control-allow-methods')).to.contain('POST')
    const allowed = response.headers.get('access-control-allow-headers')
    expect(allowed).to.equal('authorization, content-type, x-stainless-lang')
    expect(response.headers.get('access-control-max-age')).to.equal('86400')
    expect(response.headers.get('access-control-allow-credentials')).to.equal(null)
  })

  it('can read the headers of an answer', async () => {
    const body = { model: 'gpt-5-mini', messages: hello }
    const response = await gateway.post(path, body, { headers: { origin } })
    expect(response.status).to.equal(200)
    expect(response.headers.get('access-control-allow-origin')).to.equal('*')
    const exposed = response.headers
      .get('access-control-expose-headers')!
      .toLowerCase()
      .split(/, */)
    const ours = [...response.headers.keys()].filter((name) => /^x-|^ratelimit/.test(name))
    expect(ours).to.include.members(['x-request-id', 'x-gateway-cost-usd', 'ratelimit-policy'])
    expect(exposed).to.include.members(ours)
    expect(exposed).to.include.members(['retry-after', 'deprecation', 'sunset'])
  })

  it('can read why they were refused', async () => {
    const response = await gateway.post(path, {}, { key: null, headers: { origin } })
    expect(response.status).to.equal(401)
    expect(response.headers.get('access-control-allow-origin')).to.equal('*')
    expect(response.headers.get('access-control-expose-headers')).to.contain('x-request-id')
  })

  it('can read nothing outside of /v1', async () => {
    for (const other of ['/health', '/metrics', '/mcp', '/docs']) {
      const response = await gateway.fetch(other, { headers: { origin } })
      expect(response.headers.get('access-control-allow-origin'), other).to.equal(null)
    }
  })

  it('may read the contract', async () => {
    const response = await gateway.fetch('/openapi.json', { key: null, headers: { origin } })
    expect(response.headers.get('access-control-allow-origin')).to.equal('*')
  })

  it('change nothing for callers without an origin', async () => {
    const response = await gateway.fetch('/v1/models')
    expect(response.headers.get('access-control-allow-origin')).to.equal(null)
  })
})
