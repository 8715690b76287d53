import { expect } from 'chai'
import sharp from 'sharp'
import type { Page } from 'playwright-core'
import { encodeBase64 } from '../../src/bytes/base64.ts'
import { openBrowser } from '../support/browser.ts'
import { useDashboard } from '../support/dashboard.ts'
import { suiteClock } from '../support/gateway.ts'
import { openPictureFiles, putFile } from '../support/picture-files.ts'
import { openGuardedStore } from '../support/store.ts'

const model = 'recraft/recraftv4_1_vector'
const outside = 'https://outside.example'
/** A blue square that tries everything that a page could do. */
const hostile = `<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="64" height="64"
  onload="top.hit = 'onload'; alert('onload')">
<style>@import url('${outside}/a.css'); rect { fill: rgb(0, 0, 255) }</style>
<script>top.hit = 'script'; alert('script'); fetch('${outside}/script')</script>
<script href="${outside}/far.js"/>
<rect width="64" height="64" onclick="alert('click')"/>
<image xlink:href="${outside}/image.png" width="9" height="9"/>
<use href="${outside}/use.svg#a"/>
<foreignObject width="9" height="9"><iframe xmlns="http://www.w3.org/1999/xhtml" src="${outside}/frame"></iframe>
<img xmlns="http://www.w3.org/1999/xhtml" src="x" onerror="alert('onerror')"/></foreignObject>
<a href="javascript:alert('link')"><text y="20">x</text></a>
<animate attributeName="x" onbegin="alert('animate')" dur="1s"/>
</svg>`

/** The colour in a screenshot, where the square is. */
async function colourIn(screenshot: Buffer): Promise<number[]> {
  const { data, info } = await sharp(screenshot).removeAlpha().raw().toBuffer({
    resolveWithObject: true,
  })
  const at = 3 * (Math.floor(info.height * 0.7) * info.width + Math.floor(info.width * 0.7))
  return [...data.subarray(at, at + 3)]
}

describe('vector pictures in a browser', () => {
  const dashboard = useDashboard()

  it('are shown in the playground as pictures alone, without scripts and requests', async () => {
    const page = await dashboard.open(`/playground?mode=test&image_model=${model}`)
    const b64_json = Buffer.from(hostile).toString('base64')
    const usage = { cost: 0.08, cost_status: 'exact', cost_details: { mode: 'test' } }
    await page.route('**/v1/images/generations', (route) =>
      route.fulfill({
        json: { created: 1, data: [{ b64_json }], output_format: 'svg', size: '64x64', usage },
      }),
    )
    await page.getByLabel('Prompt').fill('A logo')
    await page.getByRole('button', { name: 'Create the picture for' }).click()
    const made = page.getByRole('region', { name: model })
    await made.getByRole('img').waitFor()
    expect(await colourIn(await made.getByRole('img').screenshot())).to.deep.equal([0, 0, 255])
    expect(await page.evaluate('top.hit')).to.equal(undefined)
    // A vector picture is no input, and is not opened as a page with the origin of the dashboard.
    expect(await made.getByRole('button', { name: 'Edit this' }).count()).to.equal(0)
    const links = await made.locator('a[href^="blob:"]').all()
    expect(links).to.have.length(1)
    expect(await links[0]!.getAttribute('download')).to.match(/\.svg$/)
  })

  it('are pages without scripts and requests at the link of a job', async function () {
    const { gateway } = dashboard
    const store = await openGuardedStore(gateway.dataDir)
    const { dataDir } = gateway
    const files = await openPictureFiles({ store, dataDir, clock: suiteClock })
    const accountId = await gateway.createAccount()
    const picture = { base64: encodeBase64([Buffer.from(hostile)]), format: 'svg' as const }
    const job = { accountId, mode: 'live', id: 'job_1' } as const
    const file = await putFile({ files, store, clock: suiteClock }, job, picture)
    const { pathname, search } = new URL(files.linkTo({ accountId }, file))
    const link = gateway.url + pathname + search
    const browser = await openBrowser(this)
    const context = await browser.newContext({ viewport: { width: 64, height: 64 } })
    const page = await context.newPage()
    const troubles = troublesOf(page, gateway.url)
    const response = await page.goto(link)
    expect(response!.headers()['content-type']).to.equal('image/svg+xml')
    await page.mouse.click(40, 40)
    // The picture keeps its own styles.
    expect(await colourIn(await page.screenshot())).to.deep.equal([0, 0, 255])
    expect(troubles).to.deep.equal([])
    await context.close()
    await files.close()
    await store.close()
  })
})

/** Dialogs, and requests to other hosts that were sent. */
function troublesOf(page: Page, url: string): string[] {
  const troubles: string[] = []
  page.on('dialog', (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  void page.route('**/*', (route) => {
    const asked = route.request().url()
    if (!asked.startsWith(`${url}/`)) troubles.push(`elsewhere: ${asked}`)
    return route.continue()
  })
  return troubles
}
