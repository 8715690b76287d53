import { expect } from 'chai'
import type { Page, Route } from 'playwright-core'
import { useDashboard } from '../support/dashboard.ts'
import { suiteClock } from '../support/gateway.ts'
import { makeUpAccount } from '../support/made-up-account.ts'
import { until } from '../support/until.ts'
import { paths, ready } from './pages.ts'

/** Wrong answers that a page may receive, by title. */
const faults: Readonly<Record<string, { status: number; contentType?: string; body?: string }>> = {
  'an error of 500': {
    status: 500,
    contentType: 'application/json',
    body: '{"error":{"message":"The gateway failed.","type":"api_error","param":null,"code":"internal_error"}}',
  },
  'an error page of a proxy': {
    status: 502,
    contentType: 'text/html',
    body: '<h1>Bad Gateway</h1>',
  },
  'HTML with status 200': { status: 200, contentType: 'text/html', body: '<p>Sign in</p>' },
  'no body': { status: 200, contentType: 'application/json', body: '' },
  'broken JSON': { status: 200, contentType: 'application/json', body: '{"data":[' },
  'JSON of another type': { status: 200, contentType: 'application/json', body: '[]' },
  'an error without a message': {
    status: 500,
    contentType: 'application/json',
    body: '{"error":{}}',
  },
}
/** Three very different faults, which are tested on every page. */
const fewFaults = ['an error of 500', 'HTML with status 200', 'broken JSON']
const session = /\/api\/sessions\/current$/
const others = /\/(?:api|v1)\/(?!sessions\/current$)/

describe('pages of a gateway whose answers are invalid', () => {
  const dashboard = useDashboard()
  let page: Page
  before(async () => {
    await makeUpAccount(dashboard.gateway, { now: suiteClock(), days: 1 })
    page = await dashboard.open('/you', { stays: true })
    await ready(page)
  })
  afterEach(() => page.unrouteAll())

  /** Opens a page with answers that the test provides. */
  const load = async (path: string, answer: (route: Route) => Promise<void>): Promise<void> => {
    await page.route(others, answer)
    const asked = page.waitForRequest(others)
    await page.goto(`${dashboard.gateway.url}/dashboard${path}`)
    await asked
    await page.getByRole('heading', { level: 1 }).waitFor()
  }

  // The page that reconciles invoices requests nothing before a file is chosen; the API reference the contract alone.
  for (const path of paths.filter((one) => !['/reconcile', '/reference'].includes(one))) {
    it(`${path} shows loading, then the error, and loads after a retry`, async () => {
      const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
      await load(path, async (route) => {
        await answered
        await route.continue()
      })
      // Skips the welcome page, which shows its steps without a loading message.
      if (path !== '/welcome') {
        await page.getByRole('status').filter({ hasText: '…' }).first().waitFor()
      }
      answer()
      await ready(page)
      await page.unroute(others)
      const names = path === '/overview' ? Object.keys(faults) : fewFaults
      for (const name of names) {
        await load(path, (route) => route.fulfill(faults[name]))
        const alerts = page.getByRole('alert')
        await alerts.first().waitFor()
        for (const text of await alerts.allInnerTexts()) {
          expect(text, name).to.match(/try again|reload/i)
        }
        await page.unroute(others)
        await askAgain(page)
      }
    })
  }

  it('shows the request id of a failure, without a link when the request has no row', async () => {
    const id = `req_${'0a'.repeat(16)}`
    const fault = faults['an error of 500']!
    await load('/keys', (route) => route.fulfill({ ...fault, headers: { 'x-request-id': id } }))
    const alert = page.getByRole('alert').first()
    await alert.getByText(id).waitFor()
    expect(await alert.getByRole('link').count()).to.equal(0)
  })

  it('repeats a failed request once, however often "Try again" is clicked', async () => {
    await load('/models', (route) => route.fulfill(faults['an error of 500']))
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
    let asked = 0
    await page.unroute(others)
    await page.route(others, async (route) => {
      asked += 1
      await answered
      await route.continue()
    })
    await page.getByRole('button', { name: 'Try again' }).dblclick()
    const busy = page.getByRole('alert').getByRole('button', { name: 'One moment…' })
    expect(await busy.isDisabled()).to.equal(true)
    answer()
    await page.getByRole('alert').waitFor({ state: 'detached' })
    expect(asked).to.equal(1)
  })

  it('waits for an answer that takes longer than the interval of its polls', async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
    let asked = 0
    await load('/welcome', async (route) => {
      if (route.request().url().includes('mode=live')) asked += 1
      await answered
      await route.continue()
    })
    await page.getByRole('heading', { level: 1, name: /^Welcome, / }).waitFor()
    // The page polls every 4 s, and stops to wait for an answer after 30 s.
    for (let polls = 0; polls < 6; polls++) await page.clock.runFor(4000)
    // It asks once before and once after the session is loaded, which may take until now.
    expect(asked).to.be.at.most(2)
    answer()
    await page.getByText('Until now the sandbox answered.').waitFor()
  })

  it('does not report the gateway as unreachable when the gateway itself answers 502', async () => {
    await page.goto(`${dashboard.gateway.url}/dashboard/you`)
    await ready(page)
    const error = { message: 'Busy. Try again.', type: 'server_error', code: 'x', param: null }
    const away = page.getByText('The gateway does not answer.')
    const answer = async (headers: Record<string, string>) => {
      await page.route('**/api/keys?*', (route) =>
        route.fulfill({ status: 502, headers, json: { error } }),
      )
      await page.getByRole('link', { name: 'API keys' }).click()
      await page.getByRole('alert').getByText(error.message).waitFor()
    }
    await answer({ 'x-request-id': `req_${'0'.repeat(32)}` })
    expect(await away.count()).to.equal(0)
    await page.getByRole('link', { name: 'Overview' }).click()
    await answer({})
    await away.waitFor()
  })

  it('shows an error when the session cannot be loaded', async () => {
    await page.goto(`${dashboard.gateway.url}/dashboard/overview`)
    await ready(page)
    for (const [name, fault] of Object.entries(faults)) {
      if (fault.body === '[]') continue
      await page.route(session, (route) => route.fulfill(fault))
      await page.reload()
      await page.getByRole('alert').first().waitFor()
      expect(await page.getByRole('alert').first().innerText(), name).to.match(/try again|reload/i)
      await page.unroute(session)
      await page.getByRole('button', { name: 'Try again' }).first().click()
      await ready(page)
    }
  })
})

/** Clicks "Try again" until the page shows no error. */
async function askAgain(page: Page): Promise<void> {
  const again = page.getByRole('button', { name: 'Try again' })
  await until('all is there', async () => {
    if ((await page.getByRole('alert').count()) === 0) return true
    // Ignores a missing button: a page that polls may have recovered by itself.
    await again
      .first()
      .click({ timeout: 500 })
      .catch(() => undefined)
    await again.evaluateAll((all) => all.forEach((one) => one.click()))
    await ready(page)
    return false
  })
}
