import { readFileSync } from 'node:fs'
import { chromium, type Browser, type Page } from 'playwright-core'
import { programPath } from './program-path.ts'

const axe = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** The machine's own Chromium; the suite of `context` is left out where it has none. */
export async function openBrowser(context?: Mocha.Context): Promise<Browser> {
  const executablePath = programPath('chromium', context)
  // Its sandbox does not take the superuser, as whom containers run tests.
  return chromium.launch({ executablePath, args: ['--no-sandbox'] })
}

/** What axe finds wrong with a page, by all rules or some: the rule, and each element that breaks it. */
export async function barriersOf(page: Page, rules?: readonly string[]): Promise<string[]> {
  const isThere = await page.evaluate<boolean>('typeof axe !== "undefined"')
  if (!isThere) await page.evaluate(axe)
  // All that it looked at and found well is half a megabyte, and most of the time.
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) }
  return page.evaluate<string[]>(`
    axe.run(${JSON.stringify(options)}).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html)))
  `)
}
