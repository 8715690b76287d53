import { readFileSync, writeFileSync } from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { parse } from 'yaml'
import { staticFile } from '../../src/pages/static-file.ts'
import type { Document } from '../../scripts/generate/document.ts'
import { publishedForm } from '../../scripts/generate/published.ts'
import { contract } from '../support/contract.ts'
import { expectError } from '../support/expect-error.ts'
import { makeFolder, projectFolder } from '../support/folder.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { sendRaw } from '../support/raw-connection.ts'

const largest = '/openapi.yaml'
const paths = [
  '/docs',
  '/openapi.json',
  '/openapi.yaml',
  '/openapi-3.2.json',
  '/mcp-tools.json',
  '/favicon.ico',
  '/robots.txt',
]
const decoders = { br: brotliDecompressSync, gzip: gunzipSync, identity: (bytes: Buffer) => bytes }
type Coding = keyof typeof decoders

const published = publishedForm(contract as unknown as Document)

describe('static files', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  /** Sends a GET with only the given headers, and returns the undecoded body. */
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    new Promise<{ status: number; headers: Record<string, string>; bytes: Buffer }>(
      (resolve, reject) => {
        request(gateway.url + path, { method, headers }, (response) => {
          const pieces: Buffer[] = []
          response.on('data', (piece: Buffer) => pieces.push(piece))
          response.on('end', () => {
            const { statusCode: status = 0, headers } = response
            // The cast is safe, because none of the headers occurs twice.
            const received = headers as Record<string, string>
            resolve({ status, headers: received, bytes: Buffer.concat(pieces) })
          })
        })
          .on('error', reject)
          .end()
      },
    )
  const codingFor = async (accepted: string | undefined) => {
    const answer = await get(
      '/openapi.json',
      accepted === undefined ? {} : { 'accept-encoding': accepted },
    )
    const coding = (answer.headers['content-encoding'] ?? 'identity') as Coding
    expect(JSON.parse(decoders[coding](answer.bytes).toString())).to.deep.equal(published)
    return coding
  }

  it('are equal in every content coding, and smaller when compressed', async () => {
    const kept = readFileSync(join(projectFolder, 'generated/openapi.yaml'))
    const lengths: Record<string, number> = {}
    for (const coding of ['br', 'gzip', 'identity'] as const) {
      const { headers, bytes } = await get(largest, { 'accept-encoding': coding })
      expect(headers['content-encoding'] ?? 'identity').to.equal(coding)
      expect(Number(headers['content-length'])).to.equal(bytes.length)
      expect(decoders[coding](bytes).equals(kept), coding).to.equal(true)
      lengths[coding] = bytes.length
    }
    expect(lengths['br']).to.be.lessThan(lengths['gzip']!)
    expect(lengths['gzip']).to.be.lessThan(kept.length / 3)
  })

  const codings: [accepted: string | undefined, coding: Coding][] = [
    [undefined, 'identity'],
    ['', 'identity'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip, deflate', 'gzip'],
    ['GZIP', 'gzip'],
    ['deflate', 'identity'],
    ['br;q=0.5, gzip;q=0.8', 'gzip'],
    ['br;q=0, gzip;q=0.001', 'gzip'],
    ['br;q=0.5, identity', 'identity'],
    ['gzip;q=0.5 , identity;q=0', 'gzip'],
    ['*', 'br'],
    ['*;q=0.5, br;q=0.1', 'gzip'],
    ['*;q=0', 'identity'],
    ['br;q=nonsense, gzip', 'gzip'],
  ]
  for (const [accepted, coding] of codings) {
    it(`are sent as ${coding} for the Accept-Encoding ${JSON.stringify(accepted)}`, async () => {
      expect(await codingFor(accepted)).to.equal(coding)
    })
  }

  it('are sent once to clients that cache them', async () => {
    for (const path of paths) {
      const headers = { 'accept-encoding': 'br' }
      const first = await get(path, headers)
      const { etag = '' } = first.headers
      expect(first.status, path).to.equal(200)
      expect(etag).to.match(/^"[\w-]{43}"$/)
      expect(first.headers['cache-control']).to.equal('no-cache')
      expect(first.headers['vary']).to.equal('accept-encoding')
      for (const known of [etag, `W/${etag}`, `"other", W/"another",${etag}`, '*']) {
        const again = await get(path, { ...headers, 'if-none-match': known })
        expect(again.status, known).to.equal(304)
        expect(again.bytes).to.have.length(0)
        expect(again.headers).to.include({ etag, 'cache-control': 'no-cache' })
        expect(again.headers).not.to.have.any.keys('content-length', 'content-type')
      }
      for (const known of ['"other"', etag.slice(1, -1), `"${etag}`, '']) {
        const again = await get(path, { ...headers, 'if-none-match': known })
        expect(again.status, known).to.equal(200)
      }
    }
  })

  it('have an ETag per content coding', async () => {
    const tags = await Promise.all(
      Object.keys(decoders).map(async (coding) => {
        const { headers } = await get(largest, { 'accept-encoding': coding })
        return headers['etag']
      }),
    )
    expect(new Set(tags).size).to.equal(3)
  })

  it('answer HEAD', async () => {
    for (const path of paths) {
      const whole = await get(path, { 'accept-encoding': 'gzip' })
      const head = await get(path, { 'accept-encoding': 'gzip' }, 'HEAD')
      expect(head.status).to.equal(200)
      expect(head.bytes).to.have.length(0)
      for (const name of ['content-length', 'content-type', 'etag', 'vary']) {
        expect(head.headers[name], `${path} ${name}`).to.equal(whole.headers[name])
      }
      expect(whole.headers['x-content-type-options']).to.equal('nosniff')
    }
  })

  it('are only those that are listed', async () => {
    const others = [
      '/docs/index.html',
      '/docs/reference.js',
      '/Docs',
      '/docs/../package.json',
      '/docs/..%2fpackage.json',
      '/docs/%2e%2e/package.json',
      '/docs/..%5cpackage.json',
      '/docs/%2fetc%2fpasswd',
      '/docs%00.js',
      '/docs/__proto__',
      '/docs/constructor',
      '/docs/%',
      '/openapi.JSON',
      '/openapi.yml',
      '/package.json',
      '/generated/openapi.json',
      '/dashboard/assets/manifest.json',
    ]
    for (const path of others) {
      const text = await sendRaw(
        gateway.url,
        `GET ${path} HTTP/1.1\r\nhost: gateway\r\nconnection: close\r\n\r\n`,
      )
      expect(text, path).to.match(/^HTTP\/1\.1 40[04] /)
      expect(text, path).to.match(/^cache-control: no-store\r$/m)
      expect(text, path).to.match(/^x-content-type-options: nosniff\r$/m)
      expect(text.length, path).to.be.lessThan(1000)
    }
  })

  it('accept only GET and HEAD', async () => {
    for (const path of [...paths, '/', '/health', '/ready', '/metrics']) {
      for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
        const response = await gateway.fetch(path, { method, key: null })
        expect(response.headers.get('allow'), `${method} ${path}`).to.equal('HEAD, GET')
        await expectError(response, { status: 405, code: 'method_not_allowed' })
      }
    }
  })

  it('include what browsers, crawlers and client generators request', async () => {
    const icon = await get('/favicon.ico')
    expect(icon.headers['content-type']).to.equal('image/svg+xml')
    expect(icon.bytes.toString()).to.match(/^<svg /)
    const icons = /<link rel="icon" type="image\/svg\+xml" href="\/favicon\.ico"/
    expect((await get('/docs')).bytes.toString()).to.match(icons)
    expect((await get('/robots.txt')).bytes.toString()).to.equal('User-agent: *\nDisallow: /\n')
    const yaml = await get('/openapi.yaml')
    expect(yaml.headers).to.include({
      'content-type': 'application/yaml',
      'access-control-allow-origin': '*',
    })
    const text = yaml.bytes.toString()
    expect(parse(text)).to.deep.equal(published)
    // YAML 1.1, in which a number with an exponent also has a point; parsers on the JVM take 50 aliases.
    expect(parse(text, { version: '1.1', maxAliasCount: 0 })).to.deep.equal(published)
    expect(text).not.to.match(/: -?\d+e[+-]?\d+$/m)
    const slash = await get('/docs/')
    expect(slash.bytes.equals((await get('/docs')).bytes)).to.equal(true)
  })

  it('answer many first requests at the same moment', async () => {
    await using fresh = await startGateway()
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => fresh.fetch(largest, { key: null })),
    )
    const texts = new Set(await Promise.all(answers.map((answer) => answer.text())))
    expect(texts.size).to.equal(1)
  })
})

describe('a file', () => {
  const ask = (accepted: string) =>
    ({ headers: { 'accept-encoding': accepted } }) as unknown as IncomingMessage

  it('is one shared answer per content coding', async () => {
    const answerTo = staticFile({ type: 'text/plain', content: 'word '.repeat(1000) })
    const [first, ...others] = await Promise.all(
      Array.from({ length: 20 }, () => answerTo(ask('br'))),
    )
    for (const other of [...others, await answerTo(ask('br;q=0.5'))]) expect(other).to.equal(first)
    expect(await answerTo(ask('gzip'))).not.to.equal(first)
  })

  it('is sent uncompressed when it is short', async () => {
    const answerTo = staticFile({ type: 'text/plain', content: 'word' })
    expect(await answerTo(ask('br'))).to.equal(await answerTo(ask('identity')))
  })

  it('is read again after a failed read', async () => {
    const folder = makeFolder()
    const path = join(folder.path, 'late.txt')
    const answerTo = staticFile({ type: 'text/plain', content: pathToFileURL(path) })
    for (const coding of ['br', 'identity']) {
      const failed = await answerTo(ask(coding)).catch((error: NodeJS.ErrnoException) => error.code)
      expect(failed).to.equal('ENOENT')
    }
    writeFileSync(path, 'there now')
    for (const coding of ['br', 'identity']) {
      const { status, pieces } = await answerTo(ask(coding))
      expect([status, String(pieces![0])]).to.deep.equal([200, 'there now'])
    }
    folder.remove()
  })
})
