import { existsSync } from 'node:fs'
import axe, { type AxeResults } from 'axe-core'
import { chromium, type Browser, type Page } from 'playwright-core'

const executablePath = '/usr/bin/chromium'

/** The machine's own Chromium; undefined where it has none. */
export async function openBrowser(): Promise<Browser | undefined> {
  if (!existsSync(executablePath)) return undefined
  // Its sandbox does not take the superuser, as whom containers run tests.
  return chromium.launch({ executablePath, args: ['--no-sandbox'] })
}

/** What axe finds wrong with a page, by all rules or some: the rule, and each element that breaks it. */
export async function barriersOf(page: Page, rules?: readonly string[]): Promise<string[]> {
  const options = rules === undefined ? {} : { runOnly: rules }
  const isThere = (await page.evaluate('typeof axe !== "undefined"')) as boolean
  if (!isThere) await page.evaluate(axe.source)
  const results = await page.evaluate(`axe.run(${JSON.stringify(options)})`)
  const { violations } = results as AxeResults
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
}
