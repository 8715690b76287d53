import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { useDashboard } from '../support/dashboard.ts'
import { eventually } from '../support/until.ts'
import { ready } from './pages.ts'

const part = /\/dashboard\/assets\/keys-/
const firstPage = /\/dashboard$/

describe('a page that was opened before an update of the gateway', () => {
  const dashboard = useDashboard()

  /** Simulates another version: the file of a page is missing, and the first page names another script. */
  const update = async (page: Page) => {
    await page.route(part, (route) => route.fulfill({ status: 404, body: 'another version' }))
    await page.route(firstPage, (route) =>
      route.request().resourceType() === 'fetch'
        ? route.fulfill({ status: 200, body: '<script src="/dashboard/assets/index-new.js">' })
        : route.continue(),
    )
  }
  const openKeys = (page: Page) => page.getByRole('link', { name: 'API keys' }).click()

  it('reloads itself once, and shows the requested page', async () => {
    const page = await dashboard.open('/overview')
    await ready(page)
    await update(page)
    const reloaded = page.waitForEvent('load')
    const missed = page.waitForResponse((response) => part.test(response.url()))
    await openKeys(page)
    expect((await missed).status()).to.equal(404)
    await page.unroute(part)
    await reloaded
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor()
  })

  it('does not reload repeatedly when a reload does not help', async () => {
    const page = await dashboard.open('/overview')
    await ready(page)
    await update(page)
    let loads = 0
    page.on('load', () => loads++)
    await openKeys(page)
    await page.getByText('This page could not be loaded').waitFor()
    await eventually(async () => expect(loads).to.equal(1))
    await page.unroute(part)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor()
  })
})
