import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { buildDashboard } from '../../scripts/dashboard.ts'
import { cpuMs } from '../support/cpu-time.ts'
import { expectError } from '../support/expect-error.ts'
import { makeFolder, projectFolder } from '../support/folder.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { sendRaw } from '../support/raw-connection.ts'

const built = join(projectFolder, 'dashboard/dist')

describe('serving the dashboard', () => {
  let gateway: TestGateway
  let assets: string[]
  before(async () => {
    await buildDashboard()
    gateway = await startGateway()
    assets = readdirSync(join(built, 'assets')).map((name) => `/dashboard/assets/${name}`)
  })
  after(() => gateway.stop())
  const get = (path: string, headers: Record<string, string> = {}) =>
    gateway.fetch(path, { key: null, headers, redirect: 'manual' })

  it('serves a page that loads only its own files and cannot be framed', async () => {
    const page = await get('/dashboard')
    expect(page.status).to.equal(200)
    const policy = page.headers.get('content-security-policy')!
    expect(policy).to.match(
      /default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'/,
    )
    expect(policy).to.contain("frame-ancestors 'none'").and.contain("base-uri 'none'")
    expect(policy).not.to.match(/unsafe|https?:|\*/)
    expect(page.headers.get('cross-origin-opener-policy')).to.equal('same-origin')
    expect(page.headers.get('cache-control')).to.equal('no-cache')
    const names = [...(await page.text()).matchAll(/(?:src|href)="([^"]+)"/g)].map(
      ([, one]) => one!,
    )
    expect(names.length).to.be.greaterThan(2)
    for (const name of names) expect((await get(name)).status, name).to.equal(200)
  })

  it('serves files that browsers cache forever, compressed when they accept it', async () => {
    expect(assets.length).to.be.greaterThan(3)
    for (const path of assets) {
      for (const coding of ['br', 'gzip', 'identity']) {
        const answer = await get(path, { 'accept-encoding': coding })
        // Fonts are compressed files.
        const isFont = path.endsWith('.woff2')
        const isCoded = Number(answer.headers.get('content-length')) >= 1024 && !isFont
        if (isCoded && coding !== 'identity') {
          expect(answer.headers.get('content-encoding'), path).to.equal(coding)
        }
        if (isFont) expect(answer.headers.get('content-type')).to.equal('font/woff2')
        expect(answer.headers.get('cache-control')).to.equal('public, max-age=31536000, immutable')
        expect(answer.headers.get('cross-origin-resource-policy')).to.equal('same-origin')
        expect(answer.headers.get('x-content-type-options')).to.equal('nosniff')
        const etag = answer.headers.get('etag')!
        const known = { 'accept-encoding': coding, 'if-none-match': etag }
        expect((await get(path, known)).status).to.equal(304)
        const head = await gateway.fetch(path, {
          method: 'HEAD',
          key: null,
          headers: { 'accept-encoding': coding },
        })
        expect([head.status, head.headers.get('etag')]).to.deep.equal([200, etag])
      }
    }
  })

  it('serves the page at every path below /dashboard', async () => {
    const page = await (await get('/dashboard')).text()
    expect(page).to.match(/<link rel="icon" [^>]*href="\/favicon\.ico"/)
    const paths = [
      '/dashboard/',
      '/dashboard/requests/req_0123',
      '/dashboard/models/openai/gpt-5.2-mini',
      '/dashboard/models/a%2Fb',
      '/dashboard/no-such-page/at.all.js',
      '/dashboard/%00%0a%1b%7f',
      '/dashboard/%E0%A4%A',
      '/dashboard/..%2f..%2fpackage.json',
      '/dashboard/__proto__',
      `/dashboard/${'x'.repeat(4000)}`,
      '/dashboard?account=<script>alert(1)</script>',
    ]
    for (const path of paths) {
      const head = `GET ${path} HTTP/1.1\r\nhost: gateway\r\nconnection: close\r\n\r\n`
      const text = await sendRaw(gateway.url, head)
      expect(text, path).to.match(/^HTTP\/1\.1 200 /)
      expect(text.endsWith(page), path).to.equal(true)
    }
  })

  it('explains that a missing file belongs to another version', async () => {
    for (const path of [
      '/dashboard/assets/keys-AAAAAAAA.js',
      '/dashboard/assets/',
      '/dashboard/assets/%00',
    ]) {
      const answer = await get(path)
      expect(answer.headers.get('cache-control')).to.equal('no-store')
      const { message } = await expectError(answer, { status: 404, code: 'not_found' })
      expect(message).to.equal('This file is of another version of the dashboard. Reload the page.')
    }
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const answer = await gateway.fetch('/dashboard/keys', { method, key: null })
      await expectError(answer, { status: 405, code: 'method_not_allowed' })
    }
  })

  it('redirects browsers from / to the dashboard, and other clients to the API reference', async () => {
    const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
    for (const [accept, location] of [
      [browser, '/dashboard'],
      ['application/json', '/docs'],
      ['*/*', '/docs'],
      ['text/htmlx', '/docs'],
    ] as const) {
      const answer = await get('/', { accept })
      expect(answer.status).to.equal(302)
      expect(answer.headers.get('location'), accept).to.equal(location)
      expect(answer.headers.get('vary')).to.match(/\baccept\b/i)
    }
  })

  it('serves the licences of bundled packages', async () => {
    const notices = await get('/dashboard/licences')
    expect(notices.headers.get('content-type')).to.match(/^text\/plain/)
    const text = await notices.text()
    expect(text)
      .to.match(/^## preact - /m)
      .and.match(/^## @fontsource-variable\/figtree - .*OFL/m)
  })
})

describe('the size of the dashboard', () => {
  before(() => buildDashboard())

  /** The name of a file and of all files that the file imports statically. */
  const closureOf = (name: string, seen = new Set<string>()): Set<string> => {
    if (seen.has(name)) return seen
    seen.add(name)
    const text = readFileSync(join(built, 'assets', name), 'utf8')
    for (const [, one] of text.matchAll(/(?:\bfrom|\bimport)\s*"\.\/([\w-]+\.js)"/g)) {
      closureOf(one!, seen)
    }
    return seen
  }
  const packedBytes = (names: Iterable<string>) =>
    [...names]
      .map((name) => gzipSync(readFileSync(join(built, 'assets', name))).length)
      .reduce((sum, bytes) => sum + bytes, 0)

  it('is at most 60 kB of script for a first page, and 20 kB for each further page', () => {
    const page = readFileSync(join(built, 'index.html'), 'utf8')
    const [, entry = ''] = /src="\/dashboard\/assets\/([\w-]+\.js)"/.exec(page)!
    const first = closureOf(entry)
    const others = readdirSync(join(built, 'assets')).filter(
      (name) => name.endsWith('.js') && !first.has(name),
    )
    const report = [`the frame ${packedBytes(first)}`]
    for (const name of others) {
      const own = [...closureOf(name)].filter((one) => !first.has(one))
      const bytes = packedBytes(own)
      report.push(`${name.replace(/-[\w-]{8}\.js$/, '')} ${bytes}`)
      // Only the page of the stored settings loads the library that edits YAML.
      expect(bytes, name).to.be.below(name.startsWith('yaml-') ? 35_000 : 20_000)
      expect(bytes + packedBytes(first), name).to.be.below(60_000)
    }
    process.stdout.write(`      bytes of script, gzip: ${report.join(', ')}\n`)
    const styles = readdirSync(join(built, 'assets')).filter((name) => name.endsWith('.css'))
    expect(packedBytes(styles)).to.be.below(20_000)
    // Browsers load the font of the text that they show, after the page is drawn with another.
    const fonts = readdirSync(join(built, 'assets')).filter((name) => name.endsWith('.woff2'))
    for (const name of fonts) expect(packedBytes([name]), name).to.be.below(21_000)
    expect(page).not.to.contain('woff2')
    // The gateway prefers Brotli, so Brotli must compress better than gzip.
    const text = readFileSync(join(built, 'assets', entry))
    expect(brotliCompressSync(text).length).to.be.below(gzipSync(text).length)
  })
})

describe('the build of the dashboard', () => {
  it('is skipped when no source has changed', async () => {
    await buildDashboard()
    let looked: ReturnType<typeof buildDashboard> | undefined
    const ms = cpuMs(() => (looked = buildDashboard()))
    expect(await looked).to.equal(undefined)
    process.stdout.write(`      looked at in ${ms.toFixed(0)} ms\n`)
    expect(ms).to.be.below(500)
  })

  it('prints a remedy when the development packages are missing', () => {
    const folder = makeFolder()
    try {
      for (const path of ['dashboard/src', 'generated/client-values.ts', 'scripts/dashboard.ts']) {
        cpSync(join(projectFolder, path), join(folder.path, path), { recursive: true })
      }
      cpSync(join(projectFolder, 'package.json'), join(folder.path, 'package.json'))
      cpSync(join(projectFolder, 'package-lock.json'), join(folder.path, 'package-lock.json'))
      const run = () => {
        const script = join(folder.path, 'scripts/dashboard.ts')
        return spawnSync(process.execPath, [script], { encoding: 'utf8' })
      }
      const { status, stderr } = run()
      expect(status, stderr).to.equal(0)
      expect(stderr).to.match(/^The dashboard is not built, .*`npm ci && npm run build`/)
      mkdirSync(join(folder.path, 'dashboard/dist'))
      cpSync(join(projectFolder, 'LICENSE'), join(folder.path, 'dashboard/dist/built-from'))
      expect(run().stderr).to.match(/^The dashboard is of another version than the gateway: /)
    } finally {
      folder.remove()
    }
  })
})
