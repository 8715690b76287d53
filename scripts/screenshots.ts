/**
 * `npm run screenshots`: writes the README's screenshots of the dashboard to `docs/images`, with Chromium. They
 * show a gateway with invented calls of some weeks, the same in each run.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import sharp from 'sharp'
import { closeBrowser, openBrowser } from '../test/support/browser.ts'
import { startGateway, suiteClock, type TestGateway } from '../test/support/gateway.ts'
import { makeUpAccount } from '../test/support/made-up-account.ts'
import { buildDashboard } from './dashboard.ts'

const folder = join(import.meta.dirname, '../docs/images')
const window = { width: 1280, height: 860 }
const tallWindow = { width: 1280, height: 1200 }
/** Sharp on high-resolution screens, with files below `bytesMax`. */
const pixelsPerPoint = 1.5
const bytesMax = 200_000
const days = 60

/** Opens the page of each screenshot, by file name. */
const views: Record<string, (page: Page, gateway: Pick<TestGateway, 'url'>) => Promise<void>> = {
  overview: async (page, { url }) => {
    await page.goto(`${url}/dashboard`)
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    await page.getByRole('button', { name: 'By model' }).click()
    await page.getByRole('heading', { name: 'By model' }).waitFor()
    await page.getByText('Loading usage').waitFor({ state: 'detached' })
  },
  playground: async (page, { url }) => {
    const models = ['gpt-image-2', 'alibaba/qwen-image-3.0']
    await page.setViewportSize(tallWindow)
    const query = new URLSearchParams({ mode: 'test', image_model: models.join() })
    await page.goto(`${url}/dashboard/playground?${query.toString()}`)
    await page.getByLabel('Prompt').fill('A lighthouse in a storm, seen from a boat, oil on canvas')
    await page.getByRole('button', { name: /^Create / }).click()
    for (const model of models) {
      await page.getByRole('region', { name: model }).getByRole('img').first().waitFor()
    }
  },
}

const browser = await openBrowser()
await buildDashboard()
const gateway = await startGateway()
try {
  await makeUpAccount(gateway, { now: suiteClock(), days })
  const token = await signIn(gateway)
  const context = await browser.newContext({
    viewport: window,
    deviceScaleFactor: pixelsPerPoint,
    colorScheme: 'light',
    reducedMotion: 'reduce',
    timezoneId: 'UTC',
    locale: 'en-US',
  })
  await context.clock.install({ time: suiteClock() })
  await context.addCookies([{ name: 'gateway_session', value: token, url: gateway.url }])
  mkdirSync(folder, { recursive: true })
  for (const [name, show] of Object.entries(views)) {
    const page = await context.newPage()
    await show(page, gateway)
    const shot = await page.screenshot()
    const { size } = await sharp(shot)
      .png({ palette: true, quality: 95, effort: 10, compressionLevel: 9 })
      .toFile(join(folder, `${name}.png`))
    process.stdout.write(`docs/images/${name}.png ${Math.round(size / 1000)} kB\n`)
    if (size > bytesMax) throw new Error(`${name}.png has more than ${bytesMax} bytes.`)
    await page.close()
  }
} finally {
  await closeBrowser()
  await gateway.stop()
}

/** Signs in an owner and gives person and account realistic names. Returns the session's token. */
async function signIn({ people, fetch }: TestGateway): Promise<string> {
  const { headers, token } = await people.signIn({ email: 'ada@example.com' })
  const change = async (path: string, name: string) => {
    const answer = await fetch(path, {
      method: 'PATCH',
      key: null,
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ name }),
    })
    if (!answer.ok) throw new Error(await answer.text())
  }
  await change('/api/me', 'Ada Lovelace')
  const me = await fetch('/api/me', { key: null, headers })
  const { memberships } = (await me.json()) as { memberships: { account_id: string }[] }
  await change(`/api/accounts/${memberships[0]!.account_id}`, 'Harbour office')
  return token
}
