import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { expectNoViolations, useDashboard } from '../support/dashboard.ts'
import { suiteClock } from '../support/gateway.ts'
import { makeUpAccount } from '../support/made-up-account.ts'
import { detailOn, paths, ready, widthTooMuch } from './pages.ts'

const looks = [
  { scheme: 'light', width: 1200 },
  { scheme: 'dark', width: 390 },
] as const

describe('a tour of the dashboard', () => {
  const dashboard = useDashboard()
  before(() => makeUpAccount(dashboard.gateway, { now: suiteClock(), days: 3 }))

  it('passes every page of the navigation', async () => {
    const page = await dashboard.open()
    const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link')
    await links.first().waitFor()
    const addresses = await links.evaluateAll((all) => all.map((one) => one.getAttribute('href')))
    expect(paths).to.include.members(addresses.map((one) => one!.replace(/^\/dashboard/, '')))
    expect(addresses.length).to.be.greaterThan(2)
  })

  for (const path of paths) {
    it(`${path}, and what it leads to first`, async () => {
      for (const look of looks) {
        const page = await dashboard.open(path, look)
        await expectGood(page, `${path} at ${look.width}`)
        const detail = await detailOn(page, path)
        if (detail === undefined) continue
        await page.goto(dashboard.gateway.url + detail)
        await expectGood(page, `${detail} at ${look.width}`)
      }
    })
  }
})

/** A page that is whole, tells of no failure, has no barrier and does not scroll sideways. */
async function expectGood(page: Page, name: string): Promise<void> {
  await ready(page)
  await page.emulateMedia({ reducedMotion: 'reduce' })
  expect(await page.getByRole('alert').allInnerTexts(), name).to.deep.equal([])
  expect(await page.title()).to.match(/^.+ · Model-Access Gateway$/)
  await expectNoViolations(page)
  expect(await widthTooMuch(page), name).to.equal(0)
}
