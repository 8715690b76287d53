import { expect } from 'chai'
import type { Page, Route } from 'playwright-core'
import { useDashboard } from '../support/dashboard.ts'
import { suiteClock } from '../support/gateway.ts'
import { makeUpAccount } from '../support/made-up-account.ts'
import { until } from '../support/until.ts'
import { paths, ready } from './pages.ts'

/** What an API may answer in place of what was asked. */
const faults: Readonly<Record<string, { status: number; contentType?: string; body?: string }>> = {
  'an error of 500': {
    status: 500,
    contentType: 'application/json',
    body: '{"error":{"message":"The gateway failed.","type":"api_error","param":null,"code":"internal_error"}}',
  },
  'a page of a proxy': { status: 502, contentType: 'text/html', body: '<h1>Bad Gateway</h1>' },
  'a page in place of an answer': { status: 200, contentType: 'text/html', body: '<p>Sign in</p>' },
  'no body': { status: 200, contentType: 'application/json', body: '' },
  'broken JSON': { status: 200, contentType: 'application/json', body: '{"data":[' },
  'JSON of another kind': { status: 200, contentType: 'application/json', body: '[]' },
  'an error without words': { status: 500, contentType: 'application/json', body: '{"error":{}}' },
}
/** Those that differ most, for every page. */
const fewFaults = ['an error of 500', 'a page in place of an answer', 'broken JSON']
const session = /\/api\/sessions\/current$/
const others = /\/(?:api|v1)\/(?!sessions\/current$)/

describe('a gateway that answers badly', () => {
  const dashboard = useDashboard()
  let page: Page
  before(async () => {
    await makeUpAccount(dashboard.gateway, { now: suiteClock(), days: 1 })
    page = await dashboard.open('/you', { stays: true })
    await ready(page)
  })
  afterEach(() => page.unrouteAll())

  /** Loads a page whose questions are answered by another. */
  const load = async (path: string, answer: (route: Route) => Promise<void>): Promise<void> => {
    await page.route(others, answer)
    const asked = page.waitForRequest(others)
    await page.goto(`${dashboard.gateway.url}/dashboard${path}`)
    await asked
    await page.getByRole('heading', { level: 1 }).waitFor()
  }

  for (const path of paths) {
    it(`${path} waits, says what is wrong, and is well when asked again`, async () => {
      const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
      await load(path, async (route) => {
        await answered
        await route.continue()
      })
      // The first steps are there before it is known which of them are done.
      if (path !== '/welcome') {
        await page.getByRole('status').filter({ hasText: '…' }).first().waitFor()
      }
      answer()
      await ready(page)
      await page.unroute(others)
      const told = path === '/overview' ? Object.keys(faults) : fewFaults
      for (const name of told) {
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

  it('tells which request it was, without a link where there is no row of it', async () => {
    const id = `req_${'0a'.repeat(16)}`
    const fault = faults['an error of 500']!
    await load('/keys', (route) => route.fulfill({ ...fault, headers: { 'x-request-id': id } }))
    const alert = page.getByRole('alert')
    await alert.getByText(id).waitFor()
    expect(await alert.getByRole('link').count()).to.equal(0)
  })

  it('is not taken to be away where it answers for a provider in trouble', async () => {
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

  it('says so when it is not known who is signed in', async () => {
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

/** Asks again for what could not be asked for, until all is there. */
async function askAgain(page: Page): Promise<void> {
  const again = page.getByRole('button', { name: 'Try again' })
  await until('all is there', async () => {
    if ((await page.getByRole('alert').count()) === 0) return true
    // What is asked for over and over may have come by itself.
    await again
      .first()
      .click({ timeout: 500 })
      .catch(() => undefined)
    await again.evaluateAll((all) => all.forEach((one) => one.click()))
    await ready(page)
    return false
  })
}
