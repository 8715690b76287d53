import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { expectFits, expectNoViolations, useDashboard } from '../support/dashboard.ts'
import { suiteClock } from '../support/gateway.ts'
import { makeUpAccount } from '../support/made-up-account.ts'
import { eventually } from '../support/until.ts'
import { detailOn, paths, ready } from './pages.ts'

const looks = [
  { colorScheme: 'light', width: 1200 },
  { colorScheme: 'dark', width: 390 },
] as const

describe('a tour of the dashboard', () => {
  const dashboard = useDashboard()
  let page: Page
  before(async () => {
    await makeUpAccount(dashboard.gateway, { now: suiteClock(), days: 3 })
    page = await dashboard.open('', { stays: true })
  })

  it('includes every page of the navigation', async () => {
    const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link')
    await links.nth(2).waitFor()
    const addresses = await links.evaluateAll((all) => all.map((one) => one.getAttribute('href')))
    expect(paths).to.include.members(addresses.map((one) => one!.replace(/^\/dashboard/, '')))
  })

  it('moves the focus to a page that a link opens', async () => {
    await page.getByRole('link', { name: 'Requests', exact: true }).press('Enter')
    await page.getByRole('heading', { name: 'Requests', level: 1 }).waitFor()
    await page.locator('main:focus').waitFor()
  })

  for (const path of paths) {
    it(`${path}, and the first item that it lists`, async () => {
      await expectGood(`/dashboard${path}`)
      const detail = await detailOn(page, path)
      if (detail !== undefined) await expectGood(detail)
    })
  }

  /** Expects that the page shows no error, has no accessibility violation and does not scroll sideways. */
  async function expectGood(path: string): Promise<void> {
    await page.goto(dashboard.gateway.url + path)
    await ready(page)
    expect(await page.getByRole('alert').allInnerTexts(), path).to.deep.equal([])
    await eventually(async () => expect(await page.title()).to.match(/^.+ · Model-Access Gateway$/))
    for (const { colorScheme, width } of looks) {
      await page.setViewportSize({ width, height: 800 })
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await expectNoViolations(page)
      await expectFits(page, `${path} at ${width}`)
    }
  }
})
