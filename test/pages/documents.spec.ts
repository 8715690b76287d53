import { expect } from 'chai'
import { parse } from 'yaml'
import { contractInfo } from '../../generated/operations.ts'
import { contract, type ContractDocument, type Tool } from '../support/contract.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'

type Link = { href: string; type?: string }
type LinkSet = { anchor: string; [relation: string]: string | Link[] }

const files = ['openapi.json', 'openapi.yaml', 'openapi-3.2.json']
/** The beginning of a path in each part, and the events of its webhooks. */
const parts: Record<string, { paths: RegExp; events: RegExp }> = {
  v1: { paths: /^\/v1\//, events: /^(image|response)\./ },
  images: { paths: /^\/v1\/images\//, events: /^image\./ },
  oauth: { paths: /^\/(oauth|\.well-known)\//, events: /^$/ },
  mcp: { paths: /^\/mcp$/, events: /^$/ },
  api: { paths: /^\/api\//, events: /./ },
}

describe('the documents of the contract', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    gateway.fetch(path, { key: null, headers, redirect: 'manual', method })
  const documentAt = async (path: string) => {
    const response = await get(path)
    expect(response.status, path).to.equal(200)
    // The cast is safe: YAML 1.2 contains JSON.
    return parse(await response.text(), { maxAliasCount: 0 }) as ContractDocument
  }

  for (const file of files)
    for (const [part, { paths, events }] of Object.entries(parts))
      it(`have ${part} of ${file} alone, complete and without anything else`, async () => {
        const whole = await documentAt(`/${file}`)
        const document = await documentAt(`/${file}?tag=${part}`)
        const expected = (names: object, pattern: RegExp) =>
          Object.keys(names).filter((name) => pattern.test(name))
        expect(Object.keys(document.paths)).to.deep.equal(expected(whole.paths, paths))
        expect(Object.keys(document.webhooks)).to.deep.equal(expected(whole.webhooks, events))
        expectComplete(document)
        const components = ({ components: all }: ContractDocument) => Object.entries(all)
        for (const [kind, section] of components(document))
          for (const [name, component] of Object.entries(section))
            expect(withoutLinks(component), `${kind} ${name}`).to.deep.equal(
              withoutLinks(whole.components[kind]![name]),
            )
      })

  it('have each path in a part', () => {
    const patterns = Object.values(parts).map(({ paths }) => paths)
    const alone = Object.keys(contract.paths).filter(
      (path) => !patterns.some((pattern) => pattern.test(path)),
    )
    expect(alone).to.deep.equal([])
  })

  it('refuse a part that does not exist', async () => {
    const unknown = ['', 'Images', 'v2', 'toString', '../v1', 'v1,mcp', 'x'.repeat(5000)]
    for (const file of files)
      for (const tag of unknown) {
        const response = await get(`/${file}?${String(new URLSearchParams({ tag }))}`)
        const text = await response.clone().text()
        expect(text).to.include('v1, images, oauth, mcp, api').and.have.length.below(500)
        await expectError(response, { status: 400, code: 'invalid_value', param: 'tag' })
      }
    const twice = await get('/openapi.json?tag=v1&tag=mcp')
    await expectError(twice, { status: 400, code: 'invalid_value', param: 'tag' })
    expect((await get('/openapi.json?other=1')).status).to.equal(200)
  })

  it('have the version of the contract, and links to each other', async () => {
    for (const path of [...files.map((file) => `/${file}?tag=v1`), '/mcp-tools.json']) {
      const { headers } = await get(path)
      expect(headers.get('x-contract-version')).to.equal(contractInfo.version)
      expect(headers.get('access-control-allow-origin')).to.equal('*')
      expect(headers.get('access-control-expose-headers')).to.include('x-contract-version')
    }
    for (const path of ['/', '/docs', '/openapi.json', '/mcp-tools.json']) {
      const link = (await get(path)).headers.get('link')
      expect(link, path).to.match(/^<\/openapi\.json>; rel="service-desc"/)
      expect(link).to.include('</docs>; rel="service-doc"')
    }
  })

  it('are sent once to clients that remember the date', async () => {
    const first = await get('/openapi.json?tag=mcp')
    const [date, etag] = [first.headers.get('last-modified')!, first.headers.get('etag')!]
    expect(new Date(date).toUTCString()).to.equal(date)
    expect(Date.parse(date)).to.be.at.most(Date.now())
    const later = new Date(Date.parse(date) + 3_600_000).toUTCString()
    const earlier = new Date(Date.parse(date) - 1000).toUTCString()
    const status = async (headers: Record<string, string>) =>
      (await get('/openapi.json?tag=mcp', headers)).status
    for (const known of [date, later])
      expect(await status({ 'if-modified-since': known })).to.equal(304)
    for (const known of [earlier, 'yesterday', ''])
      expect(await status({ 'if-modified-since': known })).to.equal(200)
    // The tag takes precedence.
    expect(await status({ 'if-modified-since': date, 'if-none-match': '"a"' })).to.equal(200)
    expect(await status({ 'if-modified-since': earlier, 'if-none-match': etag })).to.equal(304)
  })

  it('include the tools, as the tool server lists them', async () => {
    const document = (await (await get('/mcp-tools.json')).json()) as { tools: Tool[] }
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const { result } = (await (await gateway.post('/mcp', body)).json()) as {
      result: { tools: Tool[] }
    }
    const shown = ({ name, title, description, annotations, inputSchema }: Tool) => [
      { name, title, description, annotations },
      Object.keys(inputSchema.properties!),
    ]
    expect(document.tools.map(shown)).to.deep.equal(result.tools.map(shown))
    expect(JSON.stringify(document)).not.to.match(/"\$ref"|"x-/)
  })

  it('are listed by the catalog of the origin', async () => {
    const path = '/.well-known/api-catalog'
    const response = await get(path)
    expect(response.headers.get('content-type')).to.equal(
      'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
    )
    expect(response.headers.get('access-control-allow-origin')).to.equal('*')
    const { linkset } = (await response.json()) as { linkset: LinkSet[] }
    const [catalog, ...apis] = linkset
    expect(catalog!.anchor).to.equal(gateway.url + path)
    const anchors = ['/v1', '/mcp', '/oauth', '/api'].map((one) => gateway.url + one)
    expect(apis.map(({ anchor }) => anchor)).to.deep.equal(anchors)
    expect(catalog!['item']).to.deep.equal(anchors.map((href) => ({ href })))
    for (const { anchor, ...relations } of apis) {
      expect(Object.keys(relations), anchor).to.include.members(['service-desc', 'service-doc'])
      for (const { href, type } of Object.values(relations).flat() as Link[]) {
        const target = await get(href.replace(gateway.url, ''))
        expect(target.status, href).to.equal(200)
        expect(target.headers.get('content-type')!.split(';')[0], href).to.equal(type)
      }
    }
    const head = await get(path, {}, 'HEAD')
    expect(head.headers.get('link')).to.include(`<${path}>; rel="api-catalog"`)
    expect(head.headers.get('content-type')).to.include('linkset+json')
  })

  it('have the public address in the catalog, never the host of the request', async () => {
    await using behind = await startGateway({ variables: { BASE_URL: 'https://gateway.example' } })
    const text = await (await behind.fetch('/.well-known/api-catalog', { key: null })).text()
    expect(text).to.include('"https://gateway.example/openapi.json?tag=v1"')
    expect(text).not.to.include('127.0.0.1')
  })

  for (const guess of [
    '/openapi',
    '/openapi/',
    '/openapi.yml',
    '/openapi-3.2.yaml',
    '/openapi/v1.json',
    '/swagger',
    '/swagger.json',
    '/swagger.yaml',
    '/swagger/v1/swagger.json',
    '/swagger-ui.html',
    '/swagger-ui/index.html',
    '/api-docs',
    '/v2/api-docs',
    '/v3/api-docs',
    '/v1/openapi.json',
    '/api/openapi.json',
    '/api/swagger.json',
    '/api/schema',
    '/docs/openapi.json',
    '/.well-known/openapi.json',
    '/redoc',
  ])
    it(`are named to a client that asks for ${guess}`, async () => {
      const response = await get(guess)
      const { error } = (await response.clone().json()) as { error: { message: string } }
      expect(error.message).to.include('/openapi.json').and.include('/openapi-3.2.json')
      await expectError(response, { status: 404, code: 'not_found' })
    })
})

/** Expects that all references, links, tags and security schemes of a document exist, and nothing is left over. */
function expectComplete(document: ContractDocument): void {
  const { paths, webhooks, components, tags, security } = document
  const operations = [paths, webhooks].flatMap((items) =>
    Object.values(items).flatMap((item) => Object.values(item)),
  )
  const seen = new Set<string>()
  const visit = (part: unknown) => {
    for (const [reference] of JSON.stringify(part).matchAll(/#\/components\/[^"]+/g)) {
      const [, , kind = '', name = ''] = reference.split('/')
      expect(components[kind], reference).to.have.property(name)
      if (!seen.has(`${kind} ${name}`))
        visit((seen.add(`${kind} ${name}`), components[kind]![name]))
    }
  }
  visit([paths, webhooks])
  const schemes = [{ security }, ...operations].flatMap((one) =>
    (one.security ?? []).flatMap(Object.keys),
  )
  for (const name of schemes) seen.add(`securitySchemes ${name}`)
  const names = Object.entries(components).flatMap(([kind, section]) =>
    Object.keys(section).map((name) => `${kind} ${name}`),
  )
  expect(names).to.have.members([...seen])
  const used = operations.flatMap((operation) => operation.tags ?? [])
  expect(tags.map(({ name }) => name)).to.have.members([...new Set(used)])
  const ids = new Set(operations.map(({ operationId }) => operationId))
  const linked = [...JSON.stringify(document).matchAll(/"links":\{[^}]*"operationId":"(\w+)"/g)]
  expect(linked.map(([, id]) => id!).filter((id) => !ids.has(id))).to.deep.equal([])
}

/** A component without the links of its responses. */
function withoutLinks(component: object | undefined): object {
  const { links: _, ...rest } = component as { links?: unknown }
  return rest
}
