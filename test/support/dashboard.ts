import { expect } from 'chai'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { buildDashboard } from '../../scripts/dashboard.ts'
import { barriersOf, openBrowser } from './browser.ts'
import { startGateway, suiteClock, type GatewayOptions, type TestGateway } from './gateway.ts'

const owner = { name: 'Ada Lovelace', email: 'ada@example.com', password: 'a sentence of Ada' }
const schemes = ['light', 'dark'] as const
const waitedMsMax = 20_000
/** A desk and a telephone. */
const widths = [1200, 390] as const

type Look = {
  scheme?: (typeof schemes)[number]
  width?: number
  /** Whose session it is: the owner's, unless another is given (`gateway.people`); null for nobody's. */
  as?: { token: string } | null
  /** Where the browser is, and what its clock says, in Unix milliseconds, where that is not the gateway's. */
  timezoneId?: string
  clockMs?: number
  /** Whether it stays for all tests of the `describe`, which lead it on: a further load costs a third. */
  stays?: boolean
}

/** A gateway with an owner, and a browser whose pages must tell of nothing wrong. */
export type TestDashboard = {
  readonly gateway: TestGateway
  /** Who has set the gateway up, with what a page of theirs sends. */
  readonly owner: typeof owner & { token: string; headers: Record<string, string> }
  /** Opens a page at a path below `/dashboard`, in a browser of its own. */
  open(path?: string, look?: Look): Promise<Page>
}

/**
 * For a `describe`: one gateway and one browser for all of its tests, which are left out where the
 * machine has none. A test fails whose pages log an error, break the content security policy or ask
 * another host.
 */
export function useDashboard(options: GatewayOptions = {}): TestDashboard {
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
    await browser?.close()
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
      // Sooner than that of the test, so that the failure names what was waited for.
      context.setDefaultTimeout(waitedMsMax)
      // The browser lives on the day of the gateway.
      await context.clock.install({ time: look.clockMs ?? clock() })
      if (as !== null) await context.addCookies([{ name: 'gateway_session', value: as.token, url }])
      const page = await context.newPage()
      watch(page, url, troubles)
      await page.goto(`${url}/dashboard${path}`)
      return page
    },
  }
}

/** By the link of the first start, as the page of the link does it. */
async function setUp(gateway: TestGateway) {
  const token = await gateway.people.setUpLink()
  const response = await gateway.post('/api/setup', { token, ...owner }, { key: null })
  expect(response.status).to.equal(201)
  const { csrf_token: csrfToken } = (await response.json()) as { csrf_token: string }
  const [cookie = ''] = response.headers.getSetCookie()[0]!.split(';')
  const headers = { cookie, 'x-csrf-token': csrfToken }
  return { token: cookie.slice(cookie.indexOf('=') + 1), headers }
}

function watch(page: Page, url: string, troubles: string[]): void {
  page.on('pageerror', (error) => troubles.push(`thrown: ${error.message}`))
  page.on('dialog', (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('console', (message) => {
    if (!['error', 'warning'].includes(message.type())) return
    // What the gateway refuses, and a gateway that is away, is part of what is tested.
    const isAnswer =
      /^Failed to load resource: (the server responded|net::ERR_CONNECTION_REFUSED)/.test(
        message.text(),
      ) && message.location().url.startsWith(`${url}/`)
    if (!isAnswer) troubles.push(`${message.type()}: ${message.text()}`)
  })
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(`${url}/`)) {
      troubles.push(`elsewhere: ${request.url()}`)
    }
  })
}

/** Presses a button that copies, 'Copy …'; gives what is on the clipboard when it says so. */
export async function copyBy(page: Page, name: string): Promise<string> {
  const said = page.getByRole('button', { name: name.replace('Copy', 'Copied'), exact: true })
  // It says so for a moment only: who looks is there before it is pressed.
  await Promise.all([said.waitFor(), page.getByRole('button', { name, exact: true }).click()])
  return page.evaluate<string>('navigator.clipboard.readText()')
}

/** Fails where axe finds a barrier on the page as it is. */
export async function expectNoViolations(page: Page): Promise<void> {
  expect(await barriersOf(page)).to.deep.equal([])
}

/** Fails where a page has a barrier or scrolls sideways, in light or dark, on a desk or a telephone. */
export async function expectGoodLooks(page: Page): Promise<void> {
  const before = page.viewportSize()!
  for (const width of widths) {
    await page.setViewportSize({ width, height: 800 })
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      // Colours alone depend on the scheme.
      const rules = colorScheme === 'light' ? undefined : ['color-contrast']
      expect(await barriersOf(page, rules), `${colorScheme}, ${width}`).to.deep.equal([])
    }
    const tooWide = await page.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
    expect(tooWide, `too wide at ${width}`).to.equal(0)
  }
  await page.setViewportSize(before)
}
