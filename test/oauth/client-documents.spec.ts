import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { authorize, getAs } from '../support/oauth-client.ts'
import { startPublicHost, type PublicHost } from '../support/public-host.ts'
import { until } from '../support/until.ts'

const redirect = 'http://localhost/callback'

describe('a client with a metadata document', () => {
  let host: PublicHost
  let gateway: TestGateway
  before(async () => {
    host = await startPublicHost()
    gateway = await startGateway({
      publicNet: { ...host.net, totalTimeoutMs: 300 },
    })
  })
  after(async () => {
    await gateway.stop()
    await host.stop()
  })
  beforeEach(() => host.reset())

  let published = 0
  /** Publishes a client metadata document and sends an authorization request of its client. */
  const ask = async (document: object = {}, changes: Record<string, string> = {}) => {
    const path = `/client-${++published}.json`
    const id = host.address(path, 'app.public.example')
    const text = JSON.stringify({
      client_id: id,
      client_name: 'App',
      redirect_uris: [redirect],
      ...document,
    })
    host.serve(path, (response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(text),
    )
    return { id, answer: await authorize(gateway, id, { redirect_uri: redirect, ...changes }) }
  }
  const expectAsked = (answer: Response) => {
    expect(answer.headers.get('location')).to.match(/^\/oauth\/interaction\//)
  }
  const expectRefused = async (answer: Response, secret = 'a secret') => {
    const text = await answer.text()
    expect(answer.status, text).to.equal(400)
    expect(answer.headers.get('location')).to.equal(null)
    expect(text).to.not.include(secret)
  }

  it('starts a sign-in with any loopback port, and its document is fetched once', async () => {
    const { id, answer } = await ask({}, { redirect_uri: 'http://localhost:54321/callback' })
    expectAsked(answer)
    expectAsked(await authorize(gateway, id, { redirect_uri: 'http://localhost:1/callback' }))
    expect(host.requests).to.have.length(1)
    expect(host.requests[0]!.headers).to.include({ accept: 'application/json' })
    expect(host.requests[0]!.headers).to.not.have.any.keys('authorization', 'cookie')
  })

  it('may have the members of a registration in its document', async () => {
    const { answer } = await ask({
      application_type: 'web',
      scope: 'claudeai',
      grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
      token_endpoint_auth_method: 'none',
      logo_uri: 'http://app.example/logo.png',
    })
    expectAsked(answer)
  })

  const documents: [name: string, document: object][] = [
    ['has the client_id of another client', { client_id: 'https://other.example/client.json' }],
    ['has a secret', { token_endpoint_auth_method: 'client_secret_basic' }],
    ['has a script as redirect address', { redirect_uris: ['javascript:alert(1)', redirect] }],
    ['has an http redirect address', { redirect_uris: ['http://evil.example/cb', redirect] }],
    [
      'has other redirect addresses than the request',
      { redirect_uris: ['https://app.example/cb'] },
    ],
    ['has no authorization_code grant', { grant_types: ['client_credentials'] }],
  ]
  for (const [name, document] of documents) {
    it(`is refused when its document ${name}`, async () => {
      const { answer } = await ask(document)
      await expectRefused(answer)
    })
  }

  const answers: [name: string, script: Parameters<PublicHost['serve']>[1]][] = [
    ['is missing', (response) => response.writeHead(404).end()],
    ['is a redirect', (response) => response.writeHead(302, { location: '/client.json' }).end()],
    ['is not JSON', Buffer.from('<html>')],
    ['is a list', Buffer.from('[]')],
    ['is null', Buffer.from('null')],
    ['is too large', Buffer.alloc(1_000_000, '[')],
    [
      'has a content-length of a gigabyte',
      (response) => response.writeHead(200, { 'content-length': '1000000000' }).write('{'),
    ],
    [
      'never ends',
      (response) => {
        const more = setInterval(() => response.write(' '.repeat(5000)), 1)
        response.on('close', () => clearInterval(more))
      },
    ],
  ]
  for (const [name, script] of answers) {
    it(`is refused when its document ${name}`, async () => {
      const path = `/answer-${++published}.json`
      host.serve(path, script)
      const id = host.address(path, 'app.public.example')
      await expectRefused(await authorize(gateway, id, { redirect_uri: redirect }))
    })
  }

  it('is refused when its document is slow, which is not fetched again at once', async () => {
    const path = `/slow-${++published}.json`
    host.serve(path, (response) => void response.writeHead(200).write('{'))
    const id = host.address(path, 'app.public.example')
    for (let one = 0; one < 3; one++) {
      await expectRefused(await authorize(gateway, id, { redirect_uri: redirect }))
    }
    expect(host.requests).to.have.length(1)
  })

  it('shows a person that the document could not be fetched, and an operator why', async () => {
    const path = `/gone-${++published}.json`
    host.serve(path, (response) => void response.writeHead(200).end('no JSON'))
    const id = host.address(path, 'app.public.example')
    const query = new URLSearchParams({ client_id: id, redirect_uri: redirect })
    const page = await getAs(`${gateway.url}/oauth/authorize?${String(query)}`, {
      accept: 'text/html',
    })
    expect(page.text).to.include('could not fetch the document that describes the application')
    const seen = await gateway.fetch('/api/attempts/unknown', { key: gateway.adminKey })
    expect(await seen.text()).to.match(/metadata document fetch failed: Unexpected token/)
  })

  it('cannot have its document on an internal address', async () => {
    const port = String(host.port)
    host.resolve('rebound.example', ['127.0.0.2', '127.0.0.1'])
    const ids = [
      `https://127.0.0.1:${port}/client.json`,
      `https://localhost:${port}/client.json`,
      `https://[::1]:${port}/client.json`,
      `https://2130706433:${port}/client.json`,
      `https://rebound.example:${port}/client.json`,
      `https://user@127.0.0.1:${port}/client.json`,
      'https://169.254.169.254/latest/meta-data',
      `http://app.public.example:${port}/client.json`,
      'https://app.public.example:1/client.json',
    ]
    for (const id of ids) {
      await expectRefused(await authorize(gateway, id, { redirect_uri: redirect }))
    }
    expect(host.insideConnections()).to.equal(0)
  })

  it('has its document fetched while another sender has reached its limit of fetches', async () => {
    await using shared = await startGateway({
      publicNet: host.net,
      file: { trusted_proxies: ['127.0.0.1'] },
      bounds: { oauthDocumentFetchesMax: 3, oauthDocumentFetchesPerAddressMax: 2 },
    })
    const held: ServerResponse[] = []
    const askFrom = (address: string, path: string) =>
      authorize(
        shared,
        host.address(path, 'app.public.example'),
        { redirect_uri: redirect },
        { 'x-forwarded-for': address },
      )
    const isHeld = (count: number) =>
      until('the documents are requested', () => held.length === count)
    const hold = (path: string) => host.serve(path, (response) => void held.push(response))
    const slow = ['/slow-1.json', '/slow-2.json', '/slow-3.json', '/slow-4.json']
    slow.forEach(hold)
    const first = slow.slice(0, 2).map((path) => askFrom('203.0.113.7', path))
    await isHeld(2)
    const refused = await askFrom('203.0.113.7', slow[2]!)
    expect(await refused.json()).to.deep.include({ error: 'temporarily_unavailable' })
    const other = askFrom('203.0.113.8', slow[2]!)
    await isHeld(3)
    // Three documents are being fetched, the limit for all addresses together.
    const third = await askFrom('203.0.113.9', slow[3]!)
    expect(await third.json()).to.deep.include({ error: 'temporarily_unavailable' })
    for (const response of held) response.writeHead(404).end()
    await Promise.all([...first, other].map(async (answer) => expectRefused(await answer)))
    const again = askFrom('203.0.113.7', slow[3]!)
    await isHeld(4)
    held[3]!.writeHead(404).end()
    await expectRefused(await again)
  })

  it('is unknown when documents are disabled', async () => {
    await using closed = await startGateway({
      publicNet: host.net,
      variables: { CLIENT_DOCUMENTS: 'closed' },
    })
    const id = host.address('/client.json', 'app.public.example')
    await expectRefused(await authorize(closed, id, { redirect_uri: redirect }))
    expect(host.publicConnections()).to.equal(0)
  })
})
