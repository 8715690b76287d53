import { expect } from 'chai'
import type { Page } from 'playwright-core'
import {
  copyBy,
  expectCount,
  expectGoodLooks,
  expectNoViolations,
  expectText,
  useDashboard,
} from '../support/dashboard.ts'
import { usageRow } from '../support/usage-row.ts'
import { suiteClock } from '../support/gateway.ts'
import { eventually } from '../support/until.ts'

describe('the models page', () => {
  const dashboard = useDashboard({
    variables: { OPENAI_API_KEY: 'sk-models-1234567890' },
    file: {
      routes: { 'gpt-5-mini': ['openai', 'deepseek/other'] },
      aliases: { house: 'gpt-5-mini' },
    },
  })
  const named = (page: Page) => page.getByRole('region', { name: 'Models' }).getByRole('link')
  const counter = (page: Page) => page.getByRole('status').filter({ hasText: /\d+ models?$/ })

  it('shows one model with its prices, end, routes and example calls', async () => {
    const { gateway } = dashboard
    const { id: account_id } = await gateway.db
      .selectFrom('accounts')
      .select('id')
      .executeTakeFirstOrThrow()
    const at = suiteClock() - 60_000
    const attempt = { provider: 'openai', upstreamModel: 'gpt-5-mini', durationMs: 1234 }
    const attempts = (outcome: string) => JSON.stringify([{ ...attempt, outcome }])
    await gateway.addUsage([
      { ...usageRow('req_1', at), account_id, mode: 'live', attempts: attempts('ok') },
      { ...usageRow('req_2', at), account_id, mode: 'live', attempts: attempts('timeout') },
    ])
    const page = await dashboard.open('/models/gpt-5-mini')
    await page.getByRole('heading', { level: 1, name: 'GPT-5 mini' }).waitFor()
    const prices = page.getByRole('region', { name: 'Prices per million tokens' })
    await prices
      .getByRole('row', { name: /^Output/ })
      .getByText('$2.00')
      .waitFor()
    const ending = page.getByRole('region', { name: 'Deprecation' })
    await expectText(ending, /deprecated since .* and ends on December 11, 2026/)
    expect(await ending.getByRole('link').getAttribute('href')).to.include('/dashboard/models/')
    const routes = page.getByRole('region', { name: 'Routes' }).getByRole('row')
    await expectText(routes.nth(1), /OpenAI\s.*in use\s.*50% failed\s+2\s+1\.2 s/s)
    await expectText(routes.nth(2), /DeepSeek\s.*not configured/s)
    const tryIt = page.getByRole('link', { name: 'Try it' })
    expect(await tryIt.getAttribute('href')).to.equal('/dashboard/playground?model=gpt-5-mini')
    await page.getByRole('button', { name: 'Python' }).click()
    expect(await copyBy(page, 'Copy Python'))
      .to.include('model="gpt-5-mini"')
      .and.to.include(`${gateway.url}/v1`)
    await expectGoodLooks(page)
  })

  it('lists the catalog, filters it in the address, and keeps the page light', async () => {
    const page = await dashboard.open('/models')
    await counter(page).waitFor()
    const all = Number.parseInt(await counter(page).innerText(), 10)
    expect(all).to.be.above(100)
    await expectCount(named(page), 60)
    const model = page.getByRole('row', { name: /^language: GPT-5 mini gpt-5-mini deprecated / })
    // Two lines of text, the name and the id: three would take at least 75 pixels.
    expect((await model.boundingBox())!.height).to.be.within(50, 60)
    await page.getByRole('button', { name: `Show all ${all}` }).click()
    await expectCount(named(page), all)
    await page.getByLabel('Type').selectOption('pictures')
    await page.getByLabel('Provider').selectOption('OpenAI')
    await eventually(async () =>
      expect(await named(page).allInnerTexts())
        .to.include('GPT Image 2')
        .and.not.to.include('GPT-5 mini'),
    )
    await page.getByLabel('Search').fill('image-2 nothing-like-it')
    await page.getByRole('heading', { name: 'No model matches' }).waitFor()
    await page.getByLabel('Search').fill('image-2.6')
    await eventually(async () =>
      expect(await named(page).allInnerTexts()).to.deep.equal([
        'GPT Image 2.6 Sunburst',
        'GPT Image 2.6 Flare',
      ]),
    )
    await page.waitForURL(/\?type=image&provider=openai&q=image-2\.6$/)
    await page.reload()
    await counter(page).waitFor()
    await expectCount(named(page), 2)
    await expectGoodLooks(page)
    await page.getByRole('button', { name: 'Clear the filters' }).click()
    await counter(page).getByText(`${all} models`, { exact: true }).waitFor()
  })

  it('finds a model by each name that the gateway accepts', async () => {
    const page = await dashboard.open('/models')
    await counter(page).waitFor()
    for (const name of ['openai/gpt-5-mini', 'gpt-5-mini-2025-08-07', 'House']) {
      await page.getByLabel('Search').fill(name)
      await eventually(async () =>
        expect(await named(page).allInnerTexts()).to.deep.equal(['GPT-5 mini']),
      )
    }
    await page.getByLabel('Search').fill('openai/gpt-5-mini')
    await page.getByText('The gateway answers to').waitFor()
    await expectGoodLooks(page)
    await page.getByLabel('Type').selectOption('pictures')
    await page.getByRole('heading', { name: 'No model matches' }).waitFor()
  })

  it('sorts by price in both directions, with unknown prices last', async () => {
    const page = await dashboard.open('/models?type=image')
    const heading = page.getByRole('columnheader', { name: 'Output price' })
    const prices = async () => {
      const cells = await page.getByRole('row').locator('td:nth-last-child(3)').allInnerTexts()
      return cells.filter((text) => text.includes('picture')).map((text) => /[\d.]+/.exec(text)![0])
    }
    const isSorted = (direction: string) =>
      heading.and(page.locator(`[aria-sort=${direction}]`)).waitFor()
    const last = page.getByRole('row').last()
    await page.getByRole('button', { name: /^Show all / }).click()
    await heading.getByRole('button').click()
    await isSorted('ascending')
    await last.getByText('unknown').first().waitFor()
    const texts = await prices()
    expect(texts).to.include('0.035')
    const rising = texts.map(Number)
    expect(rising).to.deep.equal(rising.toSorted((a, b) => a - b))
    const pointsAt = await page.evaluate<number[]>(
      pointsAtOf('.models td:nth-last-child(3) .money'),
    )
    expect([...new Set(pointsAt)]).to.have.length(1)
    await heading.getByRole('button').click()
    await isSorted('descending')
    await last.getByText('unknown').first().waitFor()
  })

  it('has a table of prices per picture, and opens a model by its alias', async () => {
    const page = await dashboard.open('/models/qwen-image-plus')
    await page.getByRole('heading', { level: 1, name: 'Qwen Image Plus' }).waitFor()
    const drawn = await dashboard.open('/models/gpt-image-2')
    const rows = drawn.getByRole('region', { name: 'Prices per picture' }).getByRole('row')
    await expectText(rows.first(), /Quality\s+Size\s+Per picture/)
    await expectText(rows.nth(1), /low\s+1024x1024\s+\$0\.\d+/)
  })

  it('shows an embedding model with its vectors and calls, and lists it by its type', async () => {
    const page = await dashboard.open('/models/text-embedding-3-small')
    await page.getByRole('heading', { level: 1, name: 'Text Embedding 3 Small' }).waitFor()
    await page.getByText('1536 dimensions').waitFor()
    expect(await page.getByRole('link', { name: 'Try it' }).count()).to.equal(0)
    await page.getByRole('button', { name: 'Python' }).click()
    expect(await copyBy(page, 'Copy Python')).to.include('client.embeddings.create(')
    await expectGoodLooks(page)
    const list = await dashboard.open('/models?type=embedding&provider=openai')
    await counter(list).waitFor()
    await expectCount(named(list), 3)
    const row = list.getByRole('row', { name: /^embeddings: Text Embedding 3 Small/ })
    await expectText(row, /\$0\.02\s+–\s/)
  })

  it('shows that a model was not found, for any address', async () => {
    const name = `<b>${'x'.repeat(3000)}</b>`
    const page = await dashboard.open(`/models/${encodeURIComponent(name)}`)
    await page.getByRole('heading', { name: 'Model not found' }).waitFor()
    await expectNoViolations(page)
    await page.evaluate(`history.pushState(null, '', '/dashboard/models/%E0%A4')`)
    await page.evaluate(`dispatchEvent(new PopStateEvent('popstate'))`)
    await page.getByText('The catalog has no model %E0%A4').waitFor()
  })
})

/** Script that returns the horizontal positions of the decimal points of amounts, in whole pixels. */
function pointsAtOf(selector: string): string {
  return `[...document.querySelectorAll('${selector}')].map((one) => {
    const range = document.createRange()
    const at = one.firstChild.data.indexOf('.')
    range.setStart(one.firstChild, at)
    range.setEnd(one.firstChild, at + 1)
    return Math.round(range.getBoundingClientRect().left)
  })`
}
