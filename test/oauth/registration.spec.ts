import { expect } from 'chai'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { register } from '../support/oauth-client.ts'

type Answer = { status: number; body: Record<string, unknown> }

const loopback = 'http://127.0.0.1:33418/'

describe('the registration of clients', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway({ file: { limits: { oauth_registrations_per_hour_max: 500 } } })
  })
  after(() => gateway.stop())

  const answerTo = async (metadata: object): Promise<Answer> => {
    const answer = await register(gateway, metadata)
    expect(answer.headers.get('cache-control')).to.equal('no-store')
    expect(answer.headers.get('x-request-id')).to.match(/^req_/)
    return { status: answer.status, body: (await answer.json()) as Answer['body'] }
  }

  describe('accepts the metadata of real clients:', () => {
    const clients: [name: string, said: object, taken: object][] = [
      [
        'an editor with a private scheme, which claims to be a web application',
        {
          redirect_uris: [
            'cursor://anysphere.cursor-mcp/oauth/callback',
            'https://www.cursor.com/agents/mcp/oauth/callback',
            'http://localhost:8787/callback',
          ],
          application_type: 'web',
        },
        { application_type: 'native' },
      ],
      [
        'an editor with loopback addresses and addresses of its own site',
        { redirect_uris: ['http://127.0.0.1/', loopback, 'https://vscode.dev/redirect'] },
        { application_type: 'native' },
      ],
      [
        'a hosted assistant with a scope, grants and members that are not supported',
        {
          redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
          scope: 'claudeai openid profile',
          grant_types: [
            'authorization_code',
            'refresh_token',
            'urn:ietf:params:oauth:grant-type:device_code',
          ],
          response_types: ['code', 'token'],
          client_uri: null,
          logo_uri: 'http://claude.ai/logo.png',
          software_id: 'x',
          sector_identifier_uri: 'https://sector.example/a.json',
        },
        {
          application_type: 'web',
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
        },
      ],
      [
        'an application with a reversed domain name as its scheme',
        { redirect_uris: ['com.example.app:/oauth/callback', 'COM.Example-1.app://cb'] },
        { application_type: 'native' },
      ],
      [
        'an editor of the same family',
        { redirect_uris: ['vscode://publisher.extension/cb', 'vscode-insiders://a.b/cb'] },
        { application_type: 'native' },
      ],
      ['a program on IPv6', { redirect_uris: ['http://[::1]/cb'] }, { application_type: 'native' }],
      [
        'a name on several lines, with direction characters',
        { client_name: '  Good\u202Eknab\n\u0000editor\u200B ' },
        { client_name: 'Good knab editor' },
      ],
      [
        'a name of HTML, kept as text',
        { client_name: '<img src=x onerror=alert(1)>' },
        { client_name: '<img src=x onerror=alert(1)>' },
      ],
      ['no name', { client_name: ' \n ' }, {}],
    ]
    for (const [name, said, taken] of clients) {
      it(name, async () => {
        const { status, body } = await answerTo(said)
        expect(status, JSON.stringify(body)).to.equal(201)
        expect(body).to.deep.include(taken)
        expect(body).to.not.have.any.keys(
          'scope',
          'logo_uri',
          'sector_identifier_uri',
          'client_secret',
        )
        expect(Object.values(body)).to.not.include(null)
      })
    }

    it('a very long name, which is truncated', async () => {
      const { body } = await answerTo({ client_name: 'x'.repeat(5000) })
      expect(body['client_name']).to.have.length(100)
    })

    it('a client with a secret, which is returned once and stored as a digest', async () => {
      const { status, body } = await answerTo({ token_endpoint_auth_method: 'client_secret_basic' })
      expect(status).to.equal(201)
      expect(body['client_secret']).to.be.a('string').with.length.greaterThan(30)
      const stored = JSON.stringify(
        await gateway.db.selectFrom('oauth_clients').selectAll().execute(),
      )
      expect(stored).to.not.include(body['client_secret'])
    })
  })

  describe('refuses', () => {
    const redirects: [name: string, address: unknown][] = [
      ['a script', 'javascript:alert(1)'],
      ['a script in capitals after a space', ' JavaScript:alert(1)'],
      ['a script with a tab', 'java\tscript:alert(1)'],
      ['data', 'data:text/html,<script>alert(1)</script>'],
      ['a script of another kind', 'vbscript:x'],
      ['a blob', 'blob:https://evil.example/1'],
      ['a file', 'file:///etc/passwd'],
      ['http on another host', 'http://evil.example/cb'],
      ['http with a name that begins like this machine', 'http://localhost.evil.example/cb'],
      ['http with a name that ends like this machine', 'http://evil.localhost/cb'],
      ['http with an address of this machine as the user', 'http://127.0.0.1@evil.example/cb'],
      ['http with a name that begins with a loopback address', 'http://127.0.0.1.evil.example/cb'],
      ['http on the network', 'http://192.168.1.1/cb'],
      ['a fragment', 'https://app.example/cb#x'],
      ['an empty fragment', 'https://app.example/cb#'],
      ['credentials', 'https://user:password@app.example/cb'],
      ['backslashes', 'https:\\\\app.example\\cb'],
      ['a line break', 'https://app.example/\r\nset-cookie: a=b'],
      ['letters of another alphabet', 'https://аpp.example/cb'],
      ['https without a host', 'https:///cb'],
      ['https without slashes', 'https:cb'],
      ['http without a host', 'http:///localhost/cb'],
      ['http without slashes', 'http:localhost/cb'],
      ['a scheme with an empty label', 'com..app:/cb'],
      ...(
        'about afp calculator content facetime feed ftp intent itms-apps jar ldap mailto market ' +
        'microsoft.windows.camera ms-appinstaller ms-msdt ms-settings ms-word myapp nfs onenote search search-ms sftp windows.example shell sms smb ' +
        'ssh steam tel telnet view-source ws wss x-apple.systempreferences'
      )
        .split(' ')
        .map((scheme): [string, string] => [`the scheme ${scheme}`, `${scheme}://evil.example/cb`]),
      ['no scheme', '//app.example/cb'],
      ['a path', '/cb'],
      ['nothing', ''],
      ['a number', 4],
      ['an object', { toString: 1 }],
      ['an address that is too long', `https://app.example/${'x'.repeat(3000)}`],
    ]
    for (const [name, address] of redirects) {
      it(`${name} as a redirect address`, async () => {
        for (const redirect_uris of [[address], [loopback, address]]) {
          const { status, body } = await answerTo({ redirect_uris })
          expect(status, JSON.stringify(body)).to.equal(400)
          expect(body['error']).to.equal('invalid_redirect_uri')
          expect(body['error_description']).to.match(/^[ !#-[\]-~]+$/)
        }
      })
    }

    const metadata: [name: string, said: object, error: string][] = [
      ['no redirect address', { redirect_uris: [] }, 'invalid_redirect_uri'],
      ['redirect_uris that are not a list', { redirect_uris: loopback }, 'invalid_redirect_uri'],
      [
        'too many redirect addresses',
        { redirect_uris: Array.from({ length: 21 }, (_, n) => `${loopback}${n}`) },
        'invalid_redirect_uri',
      ],
      [
        'the grant client_credentials',
        { grant_types: ['client_credentials'] },
        'invalid_client_metadata',
      ],
      [
        'grants without authorization_code',
        { grant_types: ['refresh_token'] },
        'invalid_client_metadata',
      ],
      [
        'grants that are not a list',
        { grant_types: 'authorization_code' },
        'invalid_client_metadata',
      ],
      ['a name that is not a string', { client_name: { a: 1 } }, 'invalid_client_metadata'],
      [
        'an unsupported authentication method',
        { token_endpoint_auth_method: 'tls_client_auth' },
        'invalid_client_metadata',
      ],
      [
        'signatures without keys',
        { token_endpoint_auth_method: 'private_key_jwt' },
        'invalid_client_metadata',
      ],
    ]
    for (const [name, said, error] of metadata) {
      it(name, async () => {
        const { status, body } = await answerTo(said)
        expect(status, JSON.stringify(body)).to.equal(400)
        expect(body['error']).to.equal(error)
      })
    }

    const bodies: [name: string, body: string, type: string, status: number][] = [
      [
        'a body of a megabyte',
        JSON.stringify({ client_name: 'x'.repeat(1_000_000) }),
        'application/json',
        413,
      ],
      ['invalid JSON', '{"client_name":', 'application/json', 400],
      ['a list', '[]', 'application/json', 400],
      ['a form', 'client_name=x', 'application/x-www-form-urlencoded', 415],
      ['deeply nested JSON', '['.repeat(30_000), 'application/json', 400],
    ]
    for (const [name, body, type, status] of bodies) {
      it(name, async () => {
        const headers = { 'content-type': type }
        const answer = await fetch(`${gateway.url}/oauth/register`, {
          method: 'POST',
          headers,
          body,
        })
        expect(answer.status).to.equal(status)
        const { error, error_description: description } = (await answer.json()) as Record<
          string,
          string
        >
        expect(error).to.be.oneOf(['invalid_request', 'invalid_client_metadata'])
        expect(description).to.match(/^[ !#-[\]-~]+$/)
      })
    }
  })

  it('is limited by address, and in total', async () => {
    let now = 0
    await using limited = await startGateway({
      file: { trusted_proxies: ['127.0.0.1'], limits: { oauth_registrations_per_hour_max: 2 } },
      bounds: { oauthRegistrationsTotalPerHourMax: 3 },
      monotonic: () => now,
    })
    const from = async (address: string) => {
      const answer = await fetch(`${limited.url}/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
        body: JSON.stringify({ redirect_uris: [loopback] }),
      })
      return {
        status: answer.status,
        retryAfter: answer.headers.get('retry-after'),
        body: await answer.json(),
      }
    }
    const statuses: number[] = []
    for (let one = 0; one < 4; one++) statuses.push((await from('203.0.113.1')).status)
    expect(statuses).to.deep.equal([201, 201, 429, 429])
    expect((await from('203.0.113.2')).status).to.equal(201)
    now += 600_000
    const { status, retryAfter, body } = await from('203.0.113.3')
    expect(status).to.equal(429)
    expect(retryAfter).to.equal('3000')
    expect(body).to.include({ error: 'temporarily_unavailable' })
    now += 3_000_000
    expect((await from('203.0.113.1')).status).to.equal(201)
  })

  it('is limited by /64 network for IPv6', async () => {
    let now = 0
    await using limited = await startGateway({
      file: { trusted_proxies: ['127.0.0.1'], limits: { oauth_registrations_per_hour_max: 2 } },
      bounds: { oauthRegistrationsTotalPerHourMax: 500 },
      monotonic: () => now,
    })
    const from = (address: string) =>
      fetch(`${limited.url}/oauth/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
        body: JSON.stringify({ redirect_uris: [loopback] }),
      })
    const statuses: number[] = []
    for (const address of ['2001:db8:0:7::1', '2001:DB8::7:0:0:0:2', '[2001:db8:0:7:ffff::3]:443'])
      statuses.push((await from(address)).status)
    expect(statuses).to.deep.equal([201, 201, 429])
    now += 3_599_000
    const refused = await from('2001:db8:0:7::4')
    expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([429, '1'])
    expect((await from('2001:db8:0:8::1')).status).to.equal(201)
  })
})
