import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { closeBrowser, openBrowser } from '../../support/browser.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { eventually } from '../../support/until.ts'
import { ada, startWithAda } from './people-at.ts'
import { register } from './visitor.ts'

describe('the sign-in pages in Chromium', () => {
  let gateway: TestGateway
  let browser: Browser
  let client: Server
  let clientUrl: string
  before(async function () {
    browser = await openBrowser(this)
    ;({ gateway } = await startWithAda())
    // A client whose callback redirects the browser again, to another host.
    client = createServer(({ url = '' }, response) => {
      if (url.startsWith('/framed')) {
        const path = new URL(url, 'http://client').searchParams.get('page')
        const html = `<iframe src="${gateway.url}${path}"></iframe>`
        return response.writeHead(200, { 'content-type': 'text/html' }).end(html)
      }
      const { port } = client.address() as AddressInfo
      const location = `http://localhost:${port}/done${url.slice(url.indexOf('?'))}`
      if (url.startsWith('/callback')) return response.writeHead(302, { location }).end()
      return response.writeHead(200, { 'content-type': 'text/html' }).end('<title>done</title>')
    })
    await new Promise<void>((resolve) => client.listen(0, '127.0.0.1', resolve))
    clientUrl = `http://127.0.0.1:${(client.address() as AddressInfo).port}`
  })
  after(async () => {
    await closeBrowser()
    client?.close()
    await gateway?.stop()
  })

  /** Signs in on a new page, without JavaScript. Returns the messages of the browser's console. */
  const signIn = async (redirectUri: string) => {
    const context = await browser.newContext({ javaScriptEnabled: false })
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    const { path } = await register(gateway, { name: 'Editor', redirectUri })
    await page.goto(gateway.url + path)
    await page.getByLabel('E-mail').fill(ada.email)
    await page.getByLabel('Password').fill(ada.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Connect this application?' }).waitFor()
    return { page, complaints, path }
  }
  const allow = (page: Page) => page.getByRole('button', { name: 'Allow' }).click()

  it('return to a client on this machine, and follow its redirect', async () => {
    const { page, complaints } = await signIn(`${clientUrl}/callback`)
    await allow(page)
    await page.waitForURL(/^http:\/\/localhost:\d+\/done\?code=mag_code_/)
    expect(complaints).to.deep.equal([])
    await page.context().close()
  })

  it('return to a client on the web', async () => {
    const { page, complaints } = await signIn('https://client.example/callback')
    // The request to this host, which does not exist, shows that no policy blocks the redirect.
    const asked = page.waitForRequest(/^https:\/\/client\.example\/callback\?code=mag_code_/)
    await allow(page)
    await asked
    expect(complaints.filter((text) => text.includes('Content Security Policy'))).to.deep.equal([])
    await page.context().close()
  })

  it('open an application with a private scheme, and stay open', async () => {
    const { page, complaints } = await signIn('cursor://anysphere.cursor-mcp/oauth/callback')
    const left = page.waitForResponse((response) => response.url().includes('/oauth/authorize/'))
    await allow(page)
    expect((await left).headers()['location']).to.match(
      /^cursor:\/\/anysphere\.cursor-mcp\/oauth\/callback\?code=mag_code_/,
    )
    await page.getByRole('heading', { name: 'Connected' }).waitFor()
    expect(complaints.filter((text) => text.includes('Content Security Policy'))).to.deep.equal([])
    await page.context().close()
  })

  it('return to the client when the person denies', async () => {
    const { page } = await signIn(`${clientUrl}/callback`)
    await page.getByRole('button', { name: 'Deny' }).click()
    await page.waitForURL(/\/done\?error=access_denied/)
    await page.context().close()
  })

  it('cannot be framed by another page', async () => {
    const { page } = await signIn(`${clientUrl}/callback`)
    const { pathname } = new URL(page.url())
    const outer = await page.context().newPage()
    const refused = outer.waitForEvent('console', (message) =>
      /frame-ancestors|X-Frame-Options/i.test(message.text()),
    )
    await outer.goto(`${clientUrl}/framed?page=${encodeURIComponent(pathname)}`)
    await refused
    // A frame that is still navigating has no content.
    const framed = await eventually(() => outer.frames()[1]!.content())
    expect(framed).not.to.contain('Connect this application?')
    await page.context().close()
  })
})
