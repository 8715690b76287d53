import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { projectFolder } from '../support/folder.ts'

const list = readFileSync(join(projectFolder, 'dashboard/src/pages/index.ts'), 'utf8')

/** Paths of the pages below `/dashboard`, from the dashboard's list of pages. */
export const paths = [...list.matchAll(/^ {4}path: '([^']+)'/gm)].map(([, path]) => path!)

/** Resolves when a page has its heading and shows no loading message. */
export async function ready(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.getByRole('status').filter({ hasText: '…' }).first().waitFor({ state: 'detached' })
}

/** The address of the first item that a page lists. */
export async function detailOn(page: Page, path: string): Promise<string | undefined> {
  const links = page.getByRole('main').getByRole('link')
  const addresses = await links.evaluateAll((all) => all.map((one) => one.getAttribute('href')))
  return addresses
    .flatMap((one) => one ?? [])
    .find((one) => one.startsWith(`/dashboard${path}/`) && !one.endsWith('/new'))
}
