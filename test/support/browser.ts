import { readFileSync } from 'node:fs'
import { chromium, type Browser, type Page } from 'playwright-core'
import { programPath } from './program-path.ts'

const axe = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

let running: Promise<Browser> | undefined

/** The installed Chromium, one for all specs of this process. When it is not installed, skips the suite of `context`. */
export async function openBrowser(context?: Mocha.Context): Promise<Browser> {
  const executablePath = programPath('chromium', context)
  // Containers run tests as root, and Chromium's sandbox does not work as root.
  running ??= chromium.launch({ executablePath, args: ['--no-sandbox'] })
  return running
}

/** Ends a spec's use of the browser. A worker of Mocha keeps the browser for its next spec, and ends it at its exit. */
export async function closeBrowser(): Promise<void> {
  const browser = await running
  if (browser === undefined) return
  await Promise.all(browser.contexts().map((context) => context.close()))
  if (process.env['MOCHA_WORKER_ID'] !== undefined) return
  running = undefined
  await browser.close()
}

type Look = {
  /** All rules by default. */
  rules?: readonly string[] | undefined
  /** Selector of the part that axe checks; the whole page by default. */
  within?: string | undefined
}

/** Accessibility violations that axe finds, as `rule: HTML of the element`. */
export async function barriersOf(
  page: Page,
  { rules, within = 'html' }: Look = {},
): Promise<string[]> {
  const isThere = await page.evaluate<boolean>('typeof axe !== "undefined"')
  if (!isThere) await page.evaluate(axe)
  // Excludes passed checks, whose report takes most of the time and half a megabyte.
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) }
  return page.evaluate<string[]>(`
    axe.run(${JSON.stringify(within)}, ${JSON.stringify(options)}).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html)))
  `)
}
