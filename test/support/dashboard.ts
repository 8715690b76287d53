import { expect } from 'chai'
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { buildDashboard } from '../../scripts/dashboard.ts'
import { barriersOf, closeBrowser, openBrowser } from './browser.ts'
import { startGateway, suiteClock, type GatewayOptions, type TestGateway } from './gateway.ts'
import { eventually } from './until.ts'

const owner = { name: 'Ada Lovelace', email: 'ada@example.com', password: 'a sentence of Ada' }
const schemes = ['light', 'dark'] as const
const waitedMsMax = 20_000
// A desktop screen and a telephone.
const widths = [1200, 390] as const

type Look = {
  scheme?: (typeof schemes)[number]
  width?: number
  /** Session to use: the owner's by default, another one from `gateway.people`, or null for no session. */
  as?: { token: string } | null
  /** Time zone and clock of the browser, in Unix milliseconds; the gateway's clock by default. */
  timezoneId?: string
  clockMs?: number
  /** Keeps the page open for all tests of the `describe`, which saves loading it again. */
  stays?: boolean
}

/** A gateway with an owner, and a browser whose pages must not log errors. */
export type TestDashboard = {
  readonly gateway: TestGateway
  /** The person who set up the gateway, with session token and request headers. */
  readonly owner: typeof owner & { token: string; headers: Record<string, string> }
  /** Opens a page at a path below `/dashboard`, in a new browser context. */
  open(path?: string, look?: Look): Promise<Page>
}

/**
 * Provides one gateway and one browser for the tests of a `describe`, and skips them on a machine without
 * Chromium. A test fails when a page logs an error, violates the content security policy or sends a request
 * to a host other than the gateway and `otherOrigins`.
 */
export function useDashboard(
  options: GatewayOptions = {},
  otherOrigins: () => readonly string[] = () => [],
): TestDashboard {
  let browser: Browser | undefined
  let gateway: TestGateway | undefined
  let session: { token: string; headers: Record<string, string> } | undefined
  let contexts: BrowserContext[] = []
  let troubles: string[] = []
  const clock = options.clock ?? suiteClock

  before(async function () {
    browser = await openBrowser(this)
    await buildDashboard()
    gateway = await startGateway(options)
    session = await setUp(gateway)
  })
  afterEach(async () => {
    await Promise.all(contexts.map((context) => context.close()))
    const found = troubles
    contexts = []
    troubles = []
    expect(found).to.deep.equal([])
  })
  after(async () => {
    await closeBrowser()
    await gateway?.stop()
  })

  return {
    get gateway() {
      return gateway!
    },
    get owner() {
      return { ...owner, ...session! }
    },
    open: async (path = '', look = {}) => {
      const { scheme = 'light', width = widths[0], as = session!, timezoneId = 'UTC' } = look
      const { url } = gateway!
      const context = await browser!.newContext({
        colorScheme: scheme,
        timezoneId,
        viewport: { width, height: 800 },
        permissions: ['clipboard-read', 'clipboard-write'],
      })
      if (!look.stays) contexts.push(context)
      // Shorter than the test's timeout, so that the failure names the missing element.
      context.setDefaultTimeout(waitedMsMax)
      // The browser uses the gateway's date.
      await context.clock.install({ time: look.clockMs ?? clock() })
      if (as !== null) await context.addCookies([{ name: 'gateway_session', value: as.token, url }])
      const page = await context.newPage()
      watch(page, url, { troubles, otherOrigins: otherOrigins() })
      await page.goto(`${url}/dashboard${path}`)
      return page
    },
  }
}

/** Sets up the gateway with the link of the first start. */
async function setUp(gateway: TestGateway) {
  const token = await gateway.people.setUpLink()
  const response = await gateway.post('/api/setup', { token, ...owner }, { key: null })
  expect(response.status).to.equal(201)
  const { csrf_token: csrfToken } = (await response.json()) as { csrf_token: string }
  const [cookie = ''] = response.headers.getSetCookie()[0]!.split(';')
  const headers = { cookie, 'x-csrf-token': csrfToken }
  return { token: cookie.slice(cookie.indexOf('=') + 1), headers }
}

type Watched = { troubles: string[]; otherOrigins: readonly string[] }

function watch(page: Page, url: string, { troubles, otherOrigins }: Watched): void {
  const isKnown = (address: string) =>
    [url, ...otherOrigins].some((one) => address.startsWith(`${one}/`))
  page.on('pageerror', (error) => troubles.push(`thrown: ${error.message}`))
  page.on('dialog', (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('console', (message) => {
    if (!['error', 'warning'].includes(message.type())) return
    // Tests cover refused requests and an unreachable gateway, so these log lines are expected.
    const isAnswer =
      /^Failed to load resource: (the server responded|net::ERR_CONNECTION_REFUSED)/.test(
        message.text(),
      ) && isKnown(message.location().url)
    if (!isAnswer) troubles.push(`${message.type()}: ${message.text()}`)
  })
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && !isKnown(request.url())) {
      troubles.push(`elsewhere: ${request.url()}`)
    }
  })
}

/** Clicks a "Copy …" button, waits for its confirmation, and returns the text of the clipboard. */
export async function copyBy(page: Page, name: string): Promise<string> {
  const confirmed = page.getByRole('button', { name: name.replace('Copy', 'Copied'), exact: true })
  // Waits for the confirmation from before the click, because the confirmation disappears soon.
  await Promise.all([confirmed.waitFor(), page.getByRole('button', { name, exact: true }).click()])
  return page.evaluate<string>('navigator.clipboard.readText()')
}

/** Waits until exactly this many elements match. */
export async function expectCount(locator: Locator, count: number): Promise<void> {
  await eventually(async () => expect(await locator.count(), String(locator)).to.equal(count))
}

/** Waits until the text of an element matches. */
export async function expectText(locator: Locator, pattern: RegExp): Promise<void> {
  await eventually(async () => expect(await locator.innerText()).to.match(pattern))
}

/** Fails when axe finds an accessibility violation on the page. */
export async function expectNoViolations(page: Page): Promise<void> {
  expect(await barriersOf(page)).to.deep.equal([])
}

/** Fails when the page has a violation or scrolls sideways, in light and dark mode, on desktop and telephone. */
export async function expectGoodLooks(page: Page): Promise<void> {
  const before = page.viewportSize()!
  for (const width of widths) {
    await page.setViewportSize({ width, height: 800 })
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      // In dark mode checks only the contrast, because other rules do not depend on the colour scheme.
      const rules = colorScheme === 'light' ? undefined : ['color-contrast']
      expect(await barriersOf(page, { rules }), `${colorScheme}, ${width}`).to.deep.equal([])
    }
    await expectFits(page, `at ${width}`)
  }
  await page.setViewportSize(before)
}

/** Waits until a page is no wider than its window. */
export async function expectFits(page: Page, what: string): Promise<void> {
  await eventually(async () => {
    const tooWide = await page.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
    expect(tooWide, `too wide: ${what}`).to.equal(0)
  })
}
