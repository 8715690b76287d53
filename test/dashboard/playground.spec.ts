import { expect } from 'chai'
import type { Locator, Page } from 'playwright-core'
import { expectGoodLooks, expectText, useDashboard } from '../support/dashboard.ts'
import { pixel } from '../support/pixel.ts'
import { until } from '../support/until.ts'

const picture = { name: 'boat.png', mimeType: 'image/png', buffer: bytesOf(pixel) }
const flare = 'gpt-image-1-mini'
const keyPath = '/api/sessions/current/key'
const plus = 'alibaba/qwen-image-plus'

describe('the playground', () => {
  const dashboard = useDashboard()
  const opened = (query: string) => dashboard.open(`/playground?mode=test&${query}`)
  const say = (page: Page, label: string, text: string) => page.getByLabel(label).fill(text)
  const rows = async () => (await dashboard.gateway.usage()).length
  const column = (page: Page, model: string) => page.getByRole('region', { name: model })

  it('shows the price before the call, and the call costs exactly that', async () => {
    const page = await opened(`image_model=${plus}`)
    await say(page, 'Prompt', 'A lighthouse in a storm')
    const prices = page.getByRole('list', { name: 'Prices' })
    await prices.getByText(/^free here, \$[\d.]+ live$/).waitFor()
    await page.getByRole('button', { name: 'Create the picture for free' }).waitFor()
    const held = Promise.withResolvers<void>()
    await page.route('**/v1/prices', async (route) => {
      await held.promise
      await route.continue()
    })
    await page.getByLabel('Number of pictures').fill('2')
    await page.getByRole('button', { name: 'Create 2 pictures for …' }).waitFor()
    held.resolve()
    const button = page.getByRole('button', { name: 'Create 2 pictures for free' })
    await button.waitFor()
    const price = /\$[\d.]+/.exec((await prices.locator('summary').textContent())!)![0]
    await button.click()
    const made = column(page, plus)
    await made.getByRole('img').nth(1).waitFor()
    const [row] = (await dashboard.gateway.usage()).slice(-1)
    const cost = Number(row!.cost_nano_usd) / 1e9
    expect(Number(price.slice(1))).to.equal(cost)
    await made.getByText(price, { exact: true }).waitFor()
    const link = made.getByRole('link', { name: 'About this request' })
    expect(await link.getAttribute('href')).to.equal(`/dashboard/requests/${row!.id}`)
    const name = await dashboard.gateway.db
      .selectFrom('api_keys')
      .select(['name', 'kind'])
      .where('id', '=', row!.key_id)
      .executeTakeFirstOrThrow()
    expect(name).to.deep.equal({ name: 'Playground of Ada Lovelace', kind: 'session' })
    await expectGoodLooks(page)
  })

  it('creates pictures with several models side by side, and edits one of them', async () => {
    const page = await opened(`image_model=${plus},${flare}`)
    await say(page, 'Prompt', 'A harbour at night')
    await page.getByRole('button', { name: 'Create 2 pictures for free' }).click()
    await column(page, plus).getByRole('img').waitFor()
    await column(page, flare).getByRole('img').waitFor()
    await page.getByRole('button', { name: `Remove ${plus}` }).click()
    await column(page, flare).getByRole('button', { name: 'Edit this' }).click()
    await say(page, 'Prompt', 'The same by day')
    await page.getByLabel('Pictures to edit').setInputFiles([picture])
    await page.getByRole('button', { name: 'Remove boat.png' }).waitFor()
    await page.getByRole('button', { name: 'Edit the picture for' }).click()
    await column(page, flare).getByRole('img').waitFor()
    const [row] = (await dashboard.gateway.usage()).slice(-1)
    expect(row).to.include({ outcome: 'ok', model: flare, images: 1 })
    await page.waitForURL(/[?&]image_model=gpt-image-1-mini(&|$)/)
  })

  it('cancels calls, and shows a remedy for an error', async () => {
    const page = await opened(`image_model=${plus}`)
    await say(page, 'Prompt', 'A boat sandbox:delay=2000')
    // A seed needs a chat request, which cannot be a job.
    await say(page, 'Seed', '7')
    await Promise.all([
      column(page, plus).getByRole('button', { name: 'Cancel' }).click(),
      page.getByRole('button', { name: 'Create the picture for' }).click(),
    ])
    await page.getByText('The provider finishes the call and charges it.').waitFor()
    const before = await dashboard.gateway.usage()
    await until('the call is recorded', async () => (await rows()) > before.length)
    await page.getByRole('button', { name: 'Show the result' }).click()
    await column(page, plus).getByRole('img').waitFor()
    expect(await rows()).to.equal(before.length + 1)
    await say(page, 'Prompt', 'sandbox:content-policy')
    await page.getByRole('button', { name: 'Create the picture for' }).click()
    const alert = column(page, plus).getByRole('alert')
    await alert.getByRole('link', { name: 'Request' }).waitFor()
    await alert.getByRole('button', { name: 'Try again' }).waitFor()
  })

  it('chats, shows answers as plain text, and shows the cost', async () => {
    const page = await opened('tab=chat&chat_model=gpt-5-mini,gemini-3-pro-image')
    const html = '<img src=x onerror=alert(1)> <b>bold</b>'
    await say(page, 'Message', html)
    await page.getByRole('button', { name: 'Send for free' }).click()
    const spoken = column(page, 'Answer 1 of gpt-5-mini')
    await spoken.getByText('tokens in').waitFor()
    await column(page, 'Answer 1 of gemini-3-pro-image').getByRole('img').waitFor()
    expect(await page.locator('b').count()).to.equal(0)
    await page.getByRole('article').getByText(html).first().waitFor()
    await say(page, 'Message', 'sandbox:slow-stream=1000')
    await page.getByRole('button', { name: 'Remove gemini-3-pro-image' }).click()
    await Promise.all([
      page.getByRole('button', { name: 'Stop' }).click(),
      page.getByRole('button', { name: 'Send for free' }).click(),
    ])
    await page.getByText('Stopped.').waitFor()
    await expectGoodLooks(page)
    await say(page, 'Message', 'Not yet')
    await page.getByRole('button', { name: 'Pictures', exact: true }).click()
    await say(page, 'Prompt', 'A half-finished prompt')
    await page.getByRole('button', { name: 'Chat', exact: true }).click()
    await page.getByText('Stopped.').waitFor()
    const message = page.getByLabel('Message')
    expect(await message.inputValue()).to.equal('Not yet')
    // Safari's Enter at the end of a Japanese word, which no composition surrounds.
    await message.dispatchEvent('keydown', { key: 'Enter', keyCode: 229 })
    expect(await message.inputValue()).to.equal('Not yet')
    await page.getByRole('button', { name: 'Pictures', exact: true }).click()
    expect(await page.getByLabel('Prompt').inputValue()).to.equal('A half-finished prompt')
  })

  it('suggests a second model with the needed capabilities, and names missing ones', async () => {
    const page = await opened('tab=chat&chat_model=gpt-5-mini')
    await page.getByLabel('Pictures to show').setInputFiles([picture])
    await page.getByRole('button', { name: 'Remove boat.png' }).waitFor()
    await page.getByRole('button', { name: 'Compare with another model' }).click()
    const second = page.getByRole('button', { name: /^Model 2: / })
    await second.waitFor()
    expect(await page.getByText('The request omits this').count()).to.equal(0)
    await page.getByRole('button', { name: 'Remove boat.png' }).waitFor()
    await choose(second, 'groq 8b-instant')
    await page
      .getByText('8b-instant cannot see pictures. The request omits this for all chosen models.')
      .waitFor()
    await expectGoodLooks(page)
    await choose(second, 'claude-sonnet-5')
    await page.getByRole('button', { name: 'Remove boat.png' }).waitFor()
    const drawn = await opened(`image_model=${flare}`)
    const dropped = await drawn.evaluateHandle(`
      const data = new DataTransfer()
      const bytes = Uint8Array.from(atob('${pixel.slice(pixel.indexOf(',') + 1)}'), (one) => one.charCodeAt(0))
      data.items.add(new File([bytes], 'dropped.png', { type: 'image/png' }))
      data
    `)
    await drawn.getByText('Drop pictures here').dispatchEvent('drop', { dataTransfer: dropped })
    await drawn.getByRole('button', { name: 'Remove dropped.png' }).click()
    await drawn.getByLabel('Size').selectOption('1536x1024')
    await drawn.getByRole('button', { name: 'Compare with another model' }).click()
    await drawn.getByRole('button', { name: /^Model 2: / }).waitFor()
    expect(await drawn.getByText('The request omits this').count()).to.equal(0)
    expect(await drawn.getByLabel('Size').inputValue()).to.equal('1536x1024')
  })

  it('preselects a capable model, not the first of the list', async () => {
    const chat = await opened('tab=chat')
    await expectText(modelOn(chat), /^gpt-5\.4-mini$/)
    const pictures = await opened('')
    await expectText(modelOn(pictures), /^\S+$/)
    const first = await modelOn(pictures).innerText()
    const { data } = (await (await dashboard.gateway.fetch('/v1/models')).json()) as {
      data: { id: string; capabilities: Record<string, boolean> }[]
    }
    const { capabilities } = data.find(({ id }) => id === first)!
    expect(capabilities).to.include({ image_generation: true, image_edit: true })
  })

  it('requests one new session key after another tab has replaced it', async () => {
    const three = [plus, flare, 'zai/cogview-4']
    const page = await opened(`image_model=${three.join(',')}`)
    await say(page, 'Prompt', 'A boat')
    await page.getByRole('button', { name: 'Create 3 pictures for' }).waitFor()
    let asked = 0
    page.on('request', (one) => void (asked += one.url().includes(keyPath) ? 1 : 0))
    const { headers } = dashboard.owner
    const body = { mode: 'test' }
    const other = await dashboard.gateway.post(keyPath, body, { key: null, headers })
    expect(other.status).to.equal(201)
    await page.getByRole('button', { name: 'Create 3 pictures for' }).click()
    for (const model of three) await column(page, model).getByRole('img').waitFor()
    expect(asked).to.equal(1)
  })

  it('opens with the model in the address, for chat and for pictures', async () => {
    const chat = await opened('model=gpt-5-mini')
    await expectText(modelOn(chat), /^gpt-5-mini$/)
    await chat.getByRole('button', { name: 'Pictures', exact: true }).click()
    await chat.getByLabel('Prompt').waitFor()
    const pictures = await opened(`model=${flare}`)
    await expectText(modelOn(pictures), /^gpt-image-1-mini$/)
  })

  it('links to the sandbox while no provider is configured', async () => {
    const chat = await dashboard.open('/playground?tab=chat')
    await chat.getByRole('link', { name: 'API: createChatCompletion' }).waitFor()
    const page = await dashboard.open('/playground')
    await page.getByRole('link', { name: 'API: createImage' }).waitFor()
    await page.getByRole('link', { name: "Add a provider's key" }).click()
    await page.getByRole('heading', { name: 'Providers', level: 1 }).waitFor()
    await page.goBack()
    await page.getByRole('link', { name: 'Try the sandbox' }).click()
    await page.getByLabel('Prompt').waitFor()
    await expectGoodLooks(page)
  })
})

/** The button that shows the first model. */
function modelOn(page: Page): Locator {
  return page.getByRole('button', { name: /^Model: / })
}

/** Chooses the first model that a search finds. */
async function choose(button: Locator, text: string): Promise<void> {
  await button.click()
  const field = button.page().getByRole('combobox', { name: 'Models' })
  await field.fill(text)
  await expectGoodLooks(button.page())
  await field.press('Enter')
  await field.waitFor({ state: 'detached' })
}

function bytesOf(url: string): Buffer {
  return Buffer.from(url.slice(url.indexOf(',') + 1), 'base64')
}
