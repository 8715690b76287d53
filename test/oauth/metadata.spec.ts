import { expect } from 'chai'
import { operations } from '../../generated/operations.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { authorize, getAs, registered } from '../support/oauth-client.ts'

type ServerMetadata = Record<string, unknown> & { issuer: string }

const wellKnown = '/.well-known/oauth-authorization-server'
const protectedResource = '/.well-known/oauth-protected-resource'

async function metadataAt(url: string, path: string): Promise<ServerMetadata> {
  const answer = await fetch(url + path)
  expect(answer.status).to.equal(200)
  expect(answer.headers.get('content-type')).to.equal('application/json')
  return (await answer.json()) as ServerMetadata
}

describe('the metadata of the authorization server', () => {
  describe('of a gateway with a public address', () => {
    const origin = 'https://gateway.example'
    let gateway: TestGateway
    before(async () => {
      gateway = await startGateway({ variables: { BASE_URL: origin } })
    })
    after(() => gateway.stop())

    for (const path of ['', '/mcp']) {
      it(`describes the tool server at ${protectedResource}${path}`, async () => {
        expect(await metadataAt(gateway.url, protectedResource + path)).to.deep.equal({
          resource: `${origin}/mcp`,
          authorization_servers: [origin],
          scopes_supported: ['mcp'],
          bearer_methods_supported: ['header'],
          resource_name: 'Model-Access Gateway',
          resource_documentation: `${origin}/docs`,
        })
      })

      it(`describes the authorization server at ${wellKnown}${path}`, async () => {
        const metadata = await metadataAt(gateway.url, wellKnown + path)
        expect(metadata).to.deep.include({
          issuer: origin,
          scopes_supported: ['mcp', 'offline_access'],
          code_challenge_methods_supported: ['S256'],
          response_types_supported: ['code'],
          authorization_response_iss_parameter_supported: true,
          client_id_metadata_document_supported: true,
        })
        expect(metadata['token_endpoint_auth_methods_supported']).to.include('none')
      })

      it(`is the same for OpenID clients at /.well-known/openid-configuration${path}`, async () => {
        const { subject_types_supported, id_token_signing_alg_values_supported, ...same } =
          await metadataAt(gateway.url, `/.well-known/openid-configuration${path}`)
        expect(subject_types_supported).to.deep.equal(['public'])
        expect(id_token_signing_alg_values_supported).to.deep.equal(['RS256'])
        expect(same).to.deep.equal(await metadataAt(gateway.url, wellKnown))
      })
    }

    it('names endpoints of the contract', async () => {
      const metadata = await metadataAt(gateway.url, wellKnown)
      const named = Object.entries(metadata)
        .filter(([name]) => /_(?:endpoint|uri)$/.test(name))
        .map(([, address]) => String(address))
      expect(named).to.have.length(6)
      const paths = new Set<string>(operations.map(({ path }) => path))
      for (const address of named) {
        expect(address).to.match(/^https:\/\/gateway\.example\/oauth\//)
        expect(paths).to.include(address.slice(origin.length))
      }
    })

    it('does not change with forged host headers', async () => {
      const forged = {
        host: 'evil.example',
        'x-forwarded-proto': 'http',
        'x-forwarded-host': 'evil.example',
      }
      const expected = JSON.stringify(await metadataAt(gateway.url, wellKnown))
      expect((await getAs(gateway.url + wellKnown, forged)).text).to.equal(expected)
      const { text } = await getAs(gateway.url + protectedResource, forged)
      expect(text).to.include(origin).and.to.not.include('evil.example')
    })

    it('may be read by pages of any origin', async () => {
      const headers = { origin: 'https://app.example' }
      const answer = await fetch(gateway.url + wellKnown, { headers })
      expect(answer.headers.get('access-control-allow-origin')).to.equal('*')
      for (const path of ['/oauth/register', '/oauth/token', '/token', protectedResource]) {
        const preflight = await fetch(gateway.url + path, {
          method: 'OPTIONS',
          headers: { ...headers, 'access-control-request-method': 'POST' },
        })
        expect(preflight.status, path).to.equal(204)
        expect(preflight.headers.get('access-control-allow-origin'), path).to.equal('*')
      }
      const page = await fetch(`${gateway.url}/oauth/authorize`, { headers })
      expect(page.headers.get('access-control-allow-origin')).to.equal(null)
    })

    it('is 404 at other paths', async () => {
      for (const path of [
        '/.well-known/jwks.json',
        `${wellKnown}/v1`,
        '/mcp/.well-known/openid-configuration',
      ]) {
        const answer = await fetch(gateway.url + path)
        expect(answer.status, path).to.equal(404)
        expect(await answer.json(), path).to.have.property('error')
      }
    })

    it('answers other methods with an OAuth error', async () => {
      for (const path of [wellKnown, '/token', '/oauth/revoke']) {
        const answer = await fetch(gateway.url + path, { method: 'PUT' })
        expect(answer.status).to.equal(405)
        expect(await answer.json()).to.include({ error: 'invalid_request' })
      }
    })
  })

  describe('of a gateway without a public address', () => {
    let gateway: TestGateway
    before(async () => {
      gateway = await startGateway()
    })
    after(() => gateway.stop())

    it('names the loopback host of the request', async () => {
      const local = gateway.url.replace('127.0.0.1', 'localhost')
      for (const url of [gateway.url, local]) {
        expect((await metadataAt(url, wellKnown)).issuer).to.equal(url)
        expect((await metadataAt(url, protectedResource))['resource']).to.equal(`${url}/mcp`)
      }
    })

    it('names the local address of the connection when the host is not this machine', async () => {
      for (const path of [wellKnown, protectedResource]) {
        const { text } = await getAs(gateway.url + path, { host: 'evil.example' })
        expect(text).to.include(gateway.url).and.to.not.include('evil.example')
      }
      const { headers } = await getAs(`${gateway.url}/mcp`, { host: 'evil.example' })
      expect(headers['www-authenticate']).to.include(`${gateway.url}${protectedResource}/mcp`)
    })
  })

  it('contains BASE_URL in normalized form', async () => {
    await using gateway = await startGateway({
      variables: { BASE_URL: 'https://Gateway.example:443' },
    })
    expect((await metadataAt(gateway.url, wellKnown)).issuer).to.equal('https://gateway.example')
    const { client_id: id } = await registered(gateway)
    const asked = await authorize(gateway, id, { resource: 'https://gateway.example/mcp' })
    expect(asked.headers.get('location')).to.match(/^\/oauth\/interaction\//)
  })

  it('omits disabled endpoints', async () => {
    await using gateway = await startGateway({
      variables: { CLIENT_REGISTRATION: 'closed', CLIENT_DOCUMENTS: 'closed' },
    })
    expect(await metadataAt(gateway.url, wellKnown)).to.not.have.any.keys(
      'registration_endpoint',
      'client_id_metadata_document_supported',
    )
    const refused = await fetch(`${gateway.url}/oauth/register`, { method: 'POST', body: '{}' })
    expect(refused.status).to.equal(404)
    expect(await refused.json()).to.include({ error: 'invalid_request' })
  })
})
