import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { barriersOf, closeBrowser, openBrowser } from '../support/browser.ts'
import { expectCount } from '../support/dashboard.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { eventually } from '../support/until.ts'

const screens = {
  'a desktop screen': { viewport: { width: 1280, height: 800 }, openedHeightMax: 4000 },
  'a telephone': { viewport: { width: 390, height: 844 }, openedHeightMax: 8000 },
}
const createImage = '#operations-Images-createImage'
// The page is large: on a busy machine it takes most of a minute to draw.
const waitedMsMax = 100_000
const createChat = '#operations-Chat-createChatCompletion'

describe('the API reference', () => {
  let gateway: TestGateway
  /** One page for all tests, since it takes seconds to draw; each test goes on with the last one's state. */
  let page: Page
  const troubles: string[] = []
  before(async function () {
    const browser = await openBrowser(this)
    gateway = await startGateway()
    // Without transitions, colours are final at once.
    page = await browser.newPage({ reducedMotion: 'reduce' })
    page.setDefaultTimeout(waitedMsMax)
    page.on('pageerror', ({ message }) => troubles.push(message))
    page.on('console', (message) => message.type() === 'error' && troubles.push(message.text()))
    page.on('request', (request) => {
      const url = request.url()
      if (!url.startsWith(gateway.url) && !url.startsWith('data:')) troubles.push(url)
    })
    await page.goto(`${gateway.url}/docs`)
  })
  after(async () => {
    await closeBrowser()
    await gateway?.stop()
  })
  afterEach(() => expect(troubles).to.deep.equal([]))

  const openOperation = async (selector: string) => {
    await page.locator(`${selector} .opblock-summary-control`).click()
    await page.locator(`${selector} .responses-table`).waitFor()
  }
  const boxOf = async (selector: string) => (await page.locator(selector).first().boundingBox())!
  /** The barriers of the page, or a part of it, in both colour schemes, and sideways scrolling. */
  const faults = async (within?: string) => {
    const show = async (colorScheme: 'light' | 'dark', root: string) => {
      await page.emulateMedia({ colorScheme })
      await page.locator(root).waitFor()
    }
    await show('light', 'html:not(.dark-mode)')
    const found = await barriersOf(page, { within })
    await show('dark', 'html.dark-mode')
    found.push(...(await barriersOf(page, { within, rules: ['color-contrast'] })))
    const tooWide = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
    return tooWide > 0 ? [...found, `${tooWide} px too wide`] : found
  }
  const authorize = async () => {
    await page.getByRole('button', { name: 'Authorize', exact: true }).click()
    await page.getByLabel('auth-bearer-value').fill(gateway.testKey)
    await page.getByLabel('auth-bearer-value').press('Enter')
    await page.getByRole('button', { name: 'Logout' }).waitFor()
  }
  const execute = async (selector: string, body: object) => {
    const operation = page.locator(selector)
    await operation.getByRole('textbox', { name: 'Request body' }).fill(JSON.stringify(body))
    await operation.getByRole('button', { name: 'Execute' }).click()
    return operation
  }
  /** The width of the only picture of the response, after the browser decoded it. */
  const pictureWidth = async (selector: string) => {
    const picture = page.locator(`${selector} img`)
    await picture.waitFor()
    expect(await picture.getAttribute('alt')).to.equal('Image 1 of the response')
    expect(await picture.getAttribute('src')).to.match(/^data:image\//)
    const image = `document.querySelector('${selector} img')`
    return page.evaluate<number>(`${image}.decode().then(() => ${image}.naturalWidth)`)
  }

  for (const [screen, { viewport }] of Object.entries(screens)) {
    it(`is accessible, and has operations on the first screen of ${screen}`, async () => {
      await page.setViewportSize(viewport)
      await page.locator('.opblock').first().waitFor()
      await eventually(async () => {
        const first = await boxOf('.opblock')
        expect(first.y + first.height).to.be.lessThan(viewport.height)
      })
      expect(await faults()).to.deep.equal([])
    })
  }

  it('shows folded texts and responses at the press of a key', async () => {
    const words = page.getByText('sandbox:first-route-fails')
    expect(await words.isVisible()).to.equal(false)
    await page.locator('summary', { hasText: 'Test keys and the sandbox' }).press('Enter')
    await words.waitFor()
    await page.locator(`${createImage} .opblock-summary-control`).press('Enter')
    const operation = page.locator(createImage)
    const codes = operation.locator('tr.response')
    await codes.waitFor()
    const refusal = operation.getByRole('button', { name: 'Response 429' })
    await refusal.press('Enter')
    await refusal.and(page.locator('[aria-expanded=true]')).waitFor()
    await operation.locator('tr.response[data-code="429"] pre').waitFor()
    const headers = operation.locator('tr.response[data-code="429"] summary')
    await headers.press('Enter')
    await operation.getByRole('cell', { name: 'retry-after' }).waitFor()
    expect(await faults()).to.deep.equal([])
    await refusal.press('Enter')
    await expectCount(codes, 1)
  })

  it('shows an accessible operation of limited height, also to try it', async () => {
    await page.locator(`${createImage} pre`).first().waitFor()
    for (const [screen, { viewport, openedHeightMax }] of Object.entries(screens)) {
      await page.setViewportSize(viewport)
      await eventually(async () =>
        expect((await boxOf(createImage)).height).to.be.within(1000, openedHeightMax),
      )
      expect(await faults(createImage), screen).to.deep.equal([])
    }
    await page.locator(createImage).getByRole('button', { name: 'Try it out' }).click()
    await page.locator(`${createImage} textarea`).waitFor()
    for (const [screen, { viewport }] of Object.entries(screens)) {
      await page.setViewportSize(viewport)
      expect(await faults(createImage), screen).to.deep.equal([])
    }
  })

  it('shows the pictures of a tried call', async () => {
    await authorize()
    expect(await faults('.dialog-ux')).to.deep.equal([])
    await page.keyboard.press('Escape')
    const operation = await execute(createImage, { prompt: 'A lighthouse', size: '1024x1024' })
    expect(await pictureWidth(createImage)).to.equal(1024)
    await operation.getByText('"output_format"').last().waitFor()
    expect(await faults(createImage)).to.deep.equal([])
  })

  it('shows the pictures of a chat', async () => {
    await openOperation(createChat)
    await page.locator(createChat).getByRole('button', { name: 'Try it out' }).click()
    await execute(createChat, {
      model: 'gemini-3-pro-image-preview',
      messages: [{ role: 'user', content: 'Draw a lighthouse' }],
      modalities: ['image', 'text'],
    })
    expect(await pictureWidth(createChat)).to.be.greaterThan(500)
  })
})
