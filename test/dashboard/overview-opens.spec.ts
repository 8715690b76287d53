import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { expectGoodLooks, useDashboard } from '../support/dashboard.ts'
import { eventually, until } from '../support/until.ts'

describe('the first page of the dashboard', () => {
  const dashboard = useDashboard()

  it('opens for a signed-in person', async () => {
    const page = await dashboard.open()
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await page.getByText('No requests in this time').waitFor()
    await expectGoodLooks(page)
  })

  it('asks for sign-in without a session', async () => {
    const page = await dashboard.open('/overview', { as: null })
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await page.getByRole('navigation').count()).to.equal(0)
    await expectGoodLooks(page)
  })

  it('sends all requests of a page at once, and none twice', async () => {
    for (const [path, name, calls] of [
      ['', 'Overview', 5],
      ['/requests', 'Requests', 3],
      ['/models', 'Models', 2],
    ] as const) {
      const page = await dashboard.open('/you')
      await page.getByLabel('Name').waitFor()
      // Copies localStorage, since Chromium writes it late and a page in another process may lack entries.
      const read = () => page.evaluate(() => Object.entries(localStorage) as [string, string][])
      // The page writes it in an effect after it shows the name.
      await until('the page has written localStorage', async () => (await read()).length > 0)
      const stored = await read()
      await page.addInitScript((entries) => {
        for (const [key, value] of entries) localStorage.setItem(key, value)
      }, stored)
      const asked: string[] = []
      let release = (): void => undefined
      const released = new Promise<void>((resolve) => (release = resolve))
      await page.route('**/api/**', async (route) => {
        asked.push(route.request().url())
        if (asked.length === calls) release()
        // Answers no request before the page has sent the last request.
        await released
        await route.continue()
      })
      await page.goto(`${dashboard.gateway.url}/dashboard${path}`)
      await page.getByRole('heading', { level: 1, name }).waitFor()
      await page.getByText('Ada Lovelace').first().waitFor()
      await page.waitForLoadState('networkidle')
      expect(asked.filter((url) => url.endsWith('/api/sessions/current'))).to.have.length(1)
      expect(asked, asked.join('\n')).to.have.length(new Set(asked).size)
      await page.context().close()
    }
  })

  it('keeps the chosen theme', async () => {
    const page = await dashboard.open('/you')
    const ground = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
    const becomes = (colour: string) =>
      eventually(async () => expect(await ground()).to.equal(colour))
    const light = await ground()
    await page.getByRole('button', { name: 'Dark theme' }).click()
    const dark = await eventually(async () => {
      const now = await ground()
      expect(now).not.to.equal(light)
      return now
    })
    await page.reload()
    await page.getByRole('button', { name: 'Dark theme', pressed: true }).waitFor()
    await becomes(dark)
    await page.getByRole('button', { name: 'Theme of the system' }).click()
    await becomes(light)
    await page.emulateMedia({ colorScheme: 'dark' })
    await becomes(dark)
  })

  it('loads the files of the page together with the frame, and each once', async () => {
    const page = await dashboard.open('/you')
    await page.getByLabel('Name').waitFor()
    for (const [path, chunk, name] of [
      ['', 'overview', 'Overview'],
      ['/requests', 'requests', 'Requests'],
      ['/settings/members', 'settings', 'Settings'],
    ] as const) {
      const asked: string[] = []
      let release = (): void => undefined
      const released = new Promise<void>((resolve) => (release = resolve))
      await page.route('**/dashboard/assets/**', async (route) => {
        const file = new URL(route.request().url()).pathname
        asked.push(file)
        if (['js', 'css'].every((end) => asked.some((one) => isOf(chunk, end, one)))) release()
        if (isOf('frame', 'js', file)) await released
        await route.continue()
      })
      await page.goto(`${dashboard.gateway.url}/dashboard${path}`)
      await page.getByRole('heading', { level: 1, name }).waitFor()
      await page.waitForLoadState('networkidle')
      expect(asked, asked.join('\n')).to.have.length(new Set(asked).size)
      await page.unrouteAll()
    }
  })

  it('falls back to the first account without an error when the chosen account was left', async () => {
    const page = await dashboard.open('/you')
    await page.getByLabel('Name').waitFor()
    const left = `acc_${'0'.repeat(32)}`
    await page.evaluate((id) => localStorage.setItem('gateway_account', id), left)
    const alerts = await countAlerts(page)
    const asked: (string | null)[] = []
    page.on('request', (request) => {
      const url = new URL(request.url())
      if (url.pathname === '/api/usage') asked.push(url.searchParams.get('account_id'))
    })
    const answered = page.waitForResponse('**/api/usage?*')
    await page.route('**/api/sessions/current', async (route) => {
      await answered
      await route.continue()
    })
    await page.goto(`${dashboard.gateway.url}/dashboard/overview`)
    await page.getByRole('link', { name: 'Create an API key' }).waitFor()
    expect(asked.slice(0, 3)).to.deep.equal([left, left, left])
    expect(new Set(asked.slice(3))).to.deep.equal(new Set([null]))
    expect(await alerts()).to.equal(0)
  })

  it('shows no error for requests without a session', async () => {
    const page = await dashboard.open('/you', { as: null })
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    // Simulates a browser whose earlier session has ended.
    await page.evaluate("localStorage.setItem('gateway_audience', 'everybody')")
    const alerts = await countAlerts(page)
    const answered = page.waitForResponse('**/api/usage?*')
    await page.route('**/api/sessions/current', async (route) => {
      await answered
      await route.continue()
    })
    await page.goto(`${dashboard.gateway.url}/dashboard/overview`)
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await alerts()).to.equal(0)
  })

  it('lists the pages of the person from the start, and nothing moves when the session is loaded', async () => {
    const { people, createAccount } = dashboard.gateway
    const as = await people.signIn({ accountId: await createAccount(), role: 'member' })
    await people.join(as.personId, await createAccount(), 'member')
    const page = await dashboard.open('/you', { as })
    const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link')
    const search = page.getByRole('button', { name: 'Search… Ctrl K' })
    const seen = async () => ({
      pages: await links.allTextContents(),
      at: await links.last().boundingBox(),
      searchAt: await search.boundingBox(),
    })
    await page.getByRole('combobox', { name: 'Account' }).waitFor()
    const loaded = await seen()
    expect(loaded.pages).to.include('Overview').and.not.to.include('Settings')
    let release = (): void => undefined
    const hold = async () => {
      const released = new Promise<void>((resolve) => (release = resolve))
      await page.unrouteAll()
      await page.route('**/api/sessions/current', async (route) => {
        await released
        await route.continue()
      })
      await page.goto(`${dashboard.gateway.url}/dashboard/models`)
      await page.getByRole('complementary').waitFor()
    }
    await hold()
    await links.first().waitFor()
    expect(await seen()).to.deep.equal(loaded)
    release()
    await page.getByRole('combobox', { name: 'Account' }).waitFor()
    expect(await seen()).to.deep.equal(loaded)
    // Without an earlier session, the page shows no links to pages before the session is loaded.
    await page.evaluate('localStorage.clear()')
    await hold()
    expect(await links.count()).to.equal(0)
    release()
    await page.getByRole('combobox', { name: 'Account' }).waitFor()
    expect(await seen()).to.deep.equal(loaded)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await eventually(async () =>
      expect(await page.evaluate('localStorage.getItem("gateway_audience")')).to.equal(null),
    )
  })
})

/** Counts errors that the page shows from its next load on, including errors that disappear again. */
async function countAlerts(page: Page): Promise<() => Promise<number>> {
  await page.addInitScript(`
    window.alertsShown = 0
    new MutationObserver((changes) => {
      for (const { addedNodes } of changes) {
        for (const node of addedNodes) {
          if (node.querySelector?.('[role=alert]') || node.matches?.('[role=alert]')) window.alertsShown += 1
        }
      }
    }).observe(document, { childList: true, subtree: true })
  `)
  return () => page.evaluate<number>('window.alertsShown')
}

function isOf(name: string, end: string, path: string): boolean {
  return new RegExp(`/${name}-[^/]+\\.${end}$`).test(path)
}
