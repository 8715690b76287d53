import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { buildDashboard } from '../../scripts/dashboard.ts'
import { closeBrowser, openBrowser } from '../support/browser.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import type { SignedInPerson } from '../support/people.ts'

// Hosts of the attacker's page. The browser sends cookies from another port, but not from another site.
const hosts = { 'another port of this machine': '127.0.0.1', 'another site': 'localhost' }
const refusedFrame = 'chrome-error://chromewebdata/'
const newKey = JSON.stringify({ name: 'stolen', mode: 'test', scopes: ['admin'] })

describe('a page of another origin, in a browser with a session', () => {
  let browser: Browser | undefined
  let gateway: TestGateway
  let attacker: Server
  let owner: SignedInPerson
  let context: BrowserContext
  before(async function () {
    browser = await openBrowser(this)
    await buildDashboard()
    gateway = await startGateway()
    attacker = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><body></body>')
    })
    await new Promise<void>((resolve) => void attacker.listen(0, '127.0.0.1', resolve))
    owner = await gateway.people.signIn()
    context = await browser.newContext()
    await context.addCookies([
      {
        name: 'gateway_session',
        value: owner.token,
        url: gateway.url,
        httpOnly: true,
        sameSite: 'Lax',
      },
    ])
  })
  after(async () => {
    await closeBrowser()
    attacker?.close()
    await gateway?.stop()
  })

  /** State that an attack could have changed. */
  const state = async () => ({
    keys: await gateway.db.selectFrom('api_keys').selectAll().orderBy('id').execute(),
    events: await gateway.db.selectFrom('audit_events').select('id').orderBy('id').execute(),
    sessions: await gateway.db.selectFrom('sessions').select('id').orderBy('id').execute(),
  })
  /** Runs a script in the attacker's page, with the gateway's address; afterwards the state must be unchanged. */
  const attack = async <Seen>(
    host: string,
    script: string,
    look?: (page: Page) => Promise<Seen>,
  ) => {
    const before = await state()
    const page = await context.newPage()
    try {
      await page.goto(`http://${host}:${(attacker.address() as AddressInfo).port}/`)
      const given = `(async (gateway) => { ${script} })(${JSON.stringify(gateway.url)})`
      const result = await page.evaluate(given)
      const seen = await look?.(page)
      expect(await state()).to.deep.equal(before)
      return { result, seen }
    } finally {
      await page.close()
    }
  }

  it('the session cookie alone opens the dashboard at its own origin', async () => {
    const page = await context.newPage()
    await page.goto(`${gateway.url}/dashboard`)
    await page.getByRole('navigation').first().waitFor()
    await page.close()
  })

  for (const [name, host] of Object.entries(hosts)) {
    it(`cannot send a request that changes data: ${name}`, async () => {
      const answers = [
        // A request without a CORS preflight.
        `{ method: 'POST', body: ${JSON.stringify(newKey)}, headers: { 'content-type': 'text/plain' } }`,
        // A request with a CORS preflight.
        `{ method: 'POST', body: ${JSON.stringify(newKey)}, headers: { 'content-type': 'application/json' } }`,
        `{ method: 'POST', headers: { 'x-csrf-token': '${owner.headers['x-csrf-token']}', 'content-type': 'application/json' }, body: ${JSON.stringify(newKey)} }`,
      ]
      for (const init of answers) {
        const { result } = await attack(
          host,
          `return fetch(gateway + '/api/keys', { credentials: 'include', ...${init} })
            .then(() => 'read', () => 'refused')`,
        )
        expect(result).to.equal('refused')
      }
      const { result } = await attack(
        host,
        `return [
          await fetch(gateway + '/api/keys', { method: 'POST', mode: 'no-cors', credentials: 'include', body: ${JSON.stringify(newKey)} })
            .then(({ type }) => type, () => 'refused'),
          navigator.sendBeacon(gateway + '/api/keys', ${JSON.stringify(newKey)}),
          await fetch(gateway + '/api/sessions/current', { method: 'DELETE', credentials: 'include' }).catch(() => 'refused'),
        ]`,
      )
      expect((result as unknown[])[2]).to.equal('refused')
    })

    it(`cannot post a form: ${name}`, async () => {
      const { seen } = await attack(
        host,
        `const form = document.createElement('form')
         Object.assign(form, { method: 'post', action: gateway + '/api/keys', enctype: 'text/plain' })
         const field = document.createElement('input')
         Object.assign(field, { name: '{"mode":"test","name":"', value: '"}' })
         form.append(field)
         document.body.append(form)
         form.submit()`,
        async (page) => {
          await page.waitForURL('**/api/keys')
          return page.locator('body').innerText()
        },
      )
      expect(seen).to.match(/csrf_failed|missing_api_key/)
    })

    it(`cannot read data as a script, a picture or an answer: ${name}`, async () => {
      const { result } = await attack(
        host,
        `const load = (tag, path) => new Promise((resolve) => {
           const element = document.createElement(tag)
           element.onload = () => resolve('loaded')
           element.onerror = () => resolve('refused')
           element[tag === 'link' ? 'href' : 'src'] = gateway + path
           if (tag === 'link') element.rel = 'stylesheet'
           document.body.append(element)
         })
         return [
           await load('script', '/api/me'), await load('script', '/api/keys'), await load('img', '/api/me'),
           await load('link', '/api/me'),
           await fetch(gateway + '/api/me', { mode: 'no-cors', credentials: 'include' }).then(() => 'loaded', () => 'refused'),
           await fetch(gateway + '/api/me', { credentials: 'include' }).then(() => 'read', () => 'refused'),
           await fetch(gateway + '/dashboard', { credentials: 'include' }).then(() => 'read', () => 'refused'),
         ]`,
      )
      const refused = Array.from({ length: 7 }, () => 'refused')
      // From another site the `no-cors` request succeeds, but has no cookie and an unreadable answer.
      const expected = host === 'localhost' ? refused.with(4, 'loaded') : refused
      expect(result).to.deep.equal(expected)
    })

    it(`cannot frame a page, and gets no reference to a page that it opens: ${name}`, async () => {
      const { seen } = await attack(
        host,
        `for (const path of ['/dashboard', '/dashboard/keys/new', '/dashboard/setup']) {
           const frame = document.createElement('iframe')
           frame.src = gateway + path
           const loaded = new Promise((resolve) => { frame.onload = resolve })
           document.body.append(frame)
           await loaded
         }`,
        async (page) => {
          const frames = page.frames().slice(1)
          // A frame in another process reports its final URL later.
          await Promise.all(frames.map((frame) => frame.waitForURL(refusedFrame)))
          return frames.length
        },
      )
      expect(seen).to.equal(3)
      const opened = context.waitForEvent('page')
      const { result } = await attack(
        host,
        `const other = open(gateway + '/dashboard')
         const deadline = Date.now() + 20_000
         while (!other.closed && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 10))
         return other.closed`,
      )
      // The attacker's page sees the opened window as closed.
      expect(result).to.equal(true)
      await (await opened).close()
    })
  }
})
