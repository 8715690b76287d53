import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { expectNoViolations, useDashboard } from '../support/dashboard.ts'
import { suiteClock } from '../support/gateway.ts'
import { makeUpAccount } from '../support/made-up-account.ts'
import { projectFolder } from '../support/program.ts'

/** The paths of the list of pages, which a page of no path below `/dashboard` is not on. */
const list = readFileSync(join(projectFolder, 'dashboard/src/pages/index.ts'), 'utf8')
const paths = [...list.matchAll(/^ {4}path: '([^']+)'/gm)].map(([, path]) => path!)
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

/** The address of the first thing that a page lists. */
async function detailOn(page: Page, path: string): Promise<string | undefined> {
  const links = page.getByRole('main').getByRole('link')
  const addresses = await links.evaluateAll((all) => all.map((one) => one.getAttribute('href')))
  return addresses
    .flatMap((one) => one ?? [])
    .find((one) => one.startsWith(`/dashboard${path}/`) && !one.endsWith('/new'))
}

/** A page that is whole, tells of no failure, has no barrier and does not scroll sideways. */
async function expectGood(page: Page, name: string): Promise<void> {
  await ready(page)
  await page.emulateMedia({ reducedMotion: 'reduce' })
  expect(await page.getByRole('alert').allInnerTexts(), name).to.deep.equal([])
  expect(await page.title()).to.match(/^.+ · Model-Access Gateway$/)
  await expectNoViolations(page)
  const tooWide = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  )
  expect(tooWide, name).to.equal(0)
}

/** What a page shows at first is there: its heading, and nothing that is still awaited. */
async function ready(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.getByRole('status').filter({ hasText: '…' }).first().waitFor({ state: 'detached' })
}
