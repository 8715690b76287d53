import { readFileSync } from 'node:fs'
import { chromium, type Browser, type Page } from 'playwright-core'
import { programPath } from './program-path.ts'

const axe = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** Starts the installed Chromium. When Chromium is not installed, skips the suite of `context`. */
export async function openBrowser(context?: Mocha.Context): Promise<Browser> {
  const executablePath = programPath('chromium', context)
  // Containers run tests as root, and Chromium's sandbox does not work as root.
  return chromium.launch({ executablePath, args: ['--no-sandbox'] })
}

/** Accessibility violations that axe finds, as `rule: HTML of the element`; checks all rules by default. */
export async function barriersOf(page: Page, rules?: readonly string[]): Promise<string[]> {
  const isThere = await page.evaluate<boolean>('typeof axe !== "undefined"')
  if (!isThere) await page.evaluate(axe)
  // Excludes passed checks, whose report takes most of the time and half a megabyte.
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) }
  return page.evaluate<string[]>(`
    axe.run(${JSON.stringify(options)}).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html)))
  `)
}
