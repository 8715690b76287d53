import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { clientText } from '../../../src/oauth/pages/client-text.ts'
import { consentPage } from '../../../src/oauth/pages/consent-page.ts'
import { leavingPage, stopPage } from '../../../src/oauth/pages/end-pages.ts'
import { signInPage, signUpPage } from '../../../src/oauth/pages/sign-in-page.ts'
import { barriersOf, closeBrowser, openBrowser } from '../../support/browser.ts'

const self = { publishedBy: undefined }
const editor = clientText({ ...self, name: 'Editor' }, 'editor://oauth/callback')
const long = clientText(
  { ...self, name: 'W'.repeat(10_000) },
  `https://${'long-'.repeat(11)}host.example.com:8443/`,
)
const hostile = '"><img src=x onerror=alert(1)><script>alert(1)</script>'
const odd = clientText({ ...self, name: hostile, publishedBy: 'a.example' }, 'https://a.example/')
const binding = { path: '/oauth/interaction/abc', token: 'token' }
const account = { id: 'acc_1', name: 'Harbour office' }
const accounts = [account, { id: 'acc_2', name: `${hostile}${'Lighthouse'.repeat(20)}` }]
const ada = { kind: 'person', name: 'Ada Lovelace', email: 'ada@example.com' } as const
const key = { kind: 'key', name: hostile, hint: 'mag_test_…3f9a', mode: 'test', account } as const

const offered = { passwordsAreOpen: true, oidcLabel: null }

const pages = {
  'to sign in': signInPage({ client: editor, binding, signUp: true, ...offered }),
  'to sign in, refused': signInPage({
    ...offered,
    client: odd,
    binding,
    signUp: true,
    values: { email: hostile },
    problem: { message: 'The e-mail or the password is wrong.' },
  }),
  'to sign in, without a password': signInPage({
    client: editor,
    binding,
    signUp: false,
    passwordsAreOpen: false,
    oidcLabel: `${hostile} Sign in with Example`,
  }),
  'to sign in, with a revoked key': signInPage({
    ...offered,
    client: long,
    binding,
    signUp: false,
    problem: { field: 'api_key', message: 'This API key was revoked.' },
  }),
  'to sign up': signUpPage({
    client: editor,
    binding,
    problem: { field: 'password', message: 'This password is among the commonest.' },
  }),
  'to consent': consentPage({
    client: editor,
    binding,
    holder: { ...ada, accounts: [account] },
    values: { budget: 'lots' },
    problem: { field: 'budget_usd', message: 'Write an amount in dollars.' },
  }),
  'to consent, with accounts': consentPage({ client: odd, binding, holder: { ...ada, accounts } }),
  'to consent, with a key': consentPage({ client: long, binding, holder: key }),
  'to go on': { ...leavingPage({ client: editor, allowed: true, next: '/elsewhere' }) },
  'to stop': stopPage({
    title: 'This sign-in has expired',
    message: 'Connect again.',
    status: 404,
  }),
}
const widths = [1200, 320]
const grounds = { light: 'rgb(245, 246, 248)', dark: 'rgb(15, 18, 22)' }

describe('the look of the sign-in pages', () => {
  let browser: Browser
  let server: Server
  let url: string
  before(async function () {
    browser = await openBrowser(this)
    server = createServer(({ url: path = '' }, response) => {
      const page = pages[decodeURIComponent(path.slice(1)) as keyof typeof pages]
      if (page === undefined) return response.writeHead(204).end()
      // Removes the refresh, with which the browser would leave the page under test.
      const html = String(page.pieces?.[0]).replace(/<meta http-equiv="refresh"[^>]*>/, '')
      return response.writeHead(200, page.headers).end(html)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  after(async () => {
    await closeBrowser()
    server?.close()
  })

  for (const name of Object.keys(pages)) {
    it(`is accessible, fits narrow screens and loads nothing external: the page ${name}`, async () => {
      const page = await browser.newPage()
      const unexpected: string[] = []
      page.on('console', (message) => unexpected.push(message.text()))
      page.on('dialog', (dialog) => unexpected.push(dialog.message()))
      page.on('request', (request) => {
        if (!request.url().startsWith(url)) unexpected.push(request.url())
      })
      await page.goto(`${url}/${encodeURIComponent(name)}`)
      expect(await barriersOf(page)).to.deep.equal([])
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        for (const width of widths) {
          await page.setViewportSize({ width, height: 700 })
          const [wide, ground, foreign] = (await page.evaluate(`[
            document.documentElement.scrollWidth - document.documentElement.clientWidth,
            getComputedStyle(document.body).backgroundColor,
            document.querySelectorAll('img, script').length
          ]`)) as [number, string, number]
          expect(wide).to.equal(0)
          expect(ground).to.equal(grounds[colorScheme])
          expect(foreign).to.equal(0)
        }
      }
      expect(await barriersOf(page, { rules: ['color-contrast'] })).to.deep.equal([])
      expect(unexpected).to.deep.equal([])
      await page.close()
    })
  }

  it('focuses the wrong field first, and the enter key never switches the account', async () => {
    const page = await browser.newPage()
    await page.goto(`${url}/${encodeURIComponent('to consent')}`)
    // Browsers set the focus shortly after the page is loaded.
    await page.locator('#budget_usd:focus').waitFor()
    const described = 'document.activeElement.getAttribute("aria-describedby")'
    expect(await page.evaluate(described)).to.equal('budget_usd-hint budget_usd-wrong')
    const sent = page.waitForRequest((request) => request.method() === 'POST')
    await page.keyboard.press('Enter')
    expect((await sent).postData()).to.match(/action=allow$/)
    await page.close()
  })
})
