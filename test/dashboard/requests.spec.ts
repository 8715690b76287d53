import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import type { UsageTable } from '../../src/storage/tables.ts'
import { expectCount, expectGoodLooks, expectText, useDashboard } from '../support/dashboard.ts'
import { suiteClock } from '../support/gateway.ts'
import { eventually, until } from '../support/until.ts'
import { usageRow } from '../support/usage-row.ts'

const hourMs = 3_600_000
const idAt = (at: number) => `req_${at.toString(16).padStart(12, '0')}${'0'.repeat(20)}`
const conversation = { messages: [{ role: 'user', content: 'A lighthouse' }] }

describe('the requests page', () => {
  const dashboard = useDashboard()
  let accountId: string
  const now = suiteClock()
  const old = now - 80 * 24 * hourMs
  const name = `<img src=x onerror=alert(1)>${'m'.repeat(200)}`
  before(async function () {
    const { gateway, owner } = dashboard
    const session = await gateway.fetch('/api/sessions/current', { key: null, ...owner })
    const { person } = (await session.json()) as {
      person: { memberships: { account_id: string }[] }
    }
    accountId = person.memberships[0]!.account_id
    const failed: Partial<UsageTable> = {
      outcome: 'failed',
      error_code: 'rate_limit_exceeded',
      attempts: JSON.stringify([
        {
          provider: 'openai',
          upstreamModel: 'm',
          outcome: 'overloaded',
          startMs: 0,
          durationMs: 9,
        },
        {
          provider: 'xai',
          upstreamModel: 'm',
          outcome: 'rate_limited',
          message: 'Slow down, <b>please</b>.',
          startMs: 9,
          durationMs: 9,
        },
      ]),
    }
    await gateway.addUsage(
      [
        { at: old, model: 'an-old-model' },
        { at: now - 3 * hourMs, ...failed },
        { at: now - 2 * hourMs, ...failed },
        { at: now - hourMs, model: name, cost_nano_usd: 12_300_000 },
      ].map((one) => ({ ...usageRow(idAt(one.at)), account_id: accountId, mode: 'live', ...one })),
    )
  })

  const rowsOf = (page: Page) => page.getByRole('region', { name: 'Requests' }).getByRole('row')

  it('lists requests as they finish, and shows names as text', async () => {
    const page = await dashboard.open('/requests')
    await page.getByText(name).waitFor()
    const before = await rowsOf(page).count()
    await dashboard.gateway.post('/v1/chat/completions', { ...conversation, model: 'gpt-5-mini' })
    await page.clock.runFor(6000)
    await rowsOf(page).nth(before).waitFor()
    await expectGoodLooks(page)
  })

  it('opens a request by a click anywhere in its row, whose exact cost is visible on a telephone', async () => {
    const page = await dashboard.open('/requests', { width: 390 })
    const cell = page.getByRole('row').filter({ hasText: name }).getByRole('cell').last()
    await expectText(cell, /^\$0\.0123$/)
    const { x, width } = (await cell.boundingBox())!
    expect(x + width).to.be.at.most(390)
    await cell.click()
    await page.getByRole('heading', { level: 1, name: 'Request', exact: true }).waitFor()
    const id = idAt(now - hourMs)
    const title = `${id} · Requests · Model-Access Gateway`
    await until('the title names the request', async () => (await page.title()) === title)
  })

  it('cuts nothing at 1280 pixels, and has rows of two lines on a telephone', async () => {
    const page = await dashboard.open('/requests', { width: 1280 })
    await page.getByText(name).waitFor()
    const cut = await page.evaluate<string[]>(`[...document.querySelectorAll('.table, .table *')]
      .filter((one) => one.scrollWidth > one.clientWidth && one.clientWidth > 1)
      .map((one) => one.outerHTML)`)
    expect(cut).to.deep.equal([])
    await page
      .getByText(/^Nov 22, 11:\d\d:\d\d$/)
      .first()
      .waitFor()
    await page.setViewportSize({ width: 390, height: 800 })
    const row = rowsOf(page).filter({ hasText: 'rate_limit_exceeded' }).first()
    const cells = row.getByRole('cell')
    const [outcome, model, cost] = await Promise.all(
      [cells.nth(1), cells.nth(2), cells.last()].map((cell) => cell.boundingBox()),
    )
    expect(Math.abs(model!.y - cost!.y)).to.be.lessThan(4)
    expect(cost!.x).to.be.greaterThan(model!.x)
    expect(outcome!.y).to.be.greaterThan(model!.y + 10)
    expect((await row.boundingBox())!.height).to.be.lessThan(75)
  })

  it('keeps the chosen time in sight, also between the views', async () => {
    const page = await dashboard.open('/requests')
    const time = page.getByLabel('Time', { exact: true })
    await page.getByText(name).waitFor()
    await time.selectOption('Last 24 hours')
    await page.waitForURL(/range=day/)
    await page.getByText(name).waitFor()
    await page.setViewportSize({ width: 390, height: 300 })
    await page.mouse.wheel(0, 2000)
    await until('the page has scrolled', () => page.evaluate<boolean>('scrollY > 100'))
    const { y, height } = (await time.boundingBox())!
    expect(y).to.be.at.least(0)
    expect(y + height).to.be.at.most(300)
    await page.setViewportSize({ width: 1200, height: 800 })
    await page.getByRole('link', { name: 'Errors by cause' }).click()
    await page.getByRole('button', { name: '24 hours', pressed: true }).waitFor()
    await page.getByRole('link', { name: 'All requests' }).click()
    await expectText(time, /Last 24 hours/)
    await time.selectOption('Exact times…')
    await page.getByLabel('From (UTC)').fill('2026-11-22T10:30')
    await page.waitForURL(/from=2026-11-22T10%3A30%3A00.000Z&to=/)
    await page.getByLabel('From (UTC)').blur()
    await expectCount(rowsOf(page).filter({ hasText: 'rate_limit' }), 0)
    await page.getByText(name).waitFor()
    await expectGoodLooks(page)
    await time.selectOption('Any time')
    await expectCount(page.getByLabel('From (UTC)'), 0)
  })

  it('exports all requests of the list with its filters', async () => {
    const page = await dashboard.open('/requests?mode=live&outcome=failed')
    await page.getByRole('button', { name: 'Export…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Export requests' })
    await expectText(dialog, /any time; mode: live, outcome: failed/)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      dialog.getByRole('link', { name: 'CSV' }).click(),
    ])
    const text = readFileSync(await download.path(), 'utf8')
    expect(text.match(/rate_limit_exceeded/g)).to.have.length(2)
    expect(text.trim().split('\r\n')).to.have.length(3)
    const lines = await dialog.getByRole('link', { name: 'JSON Lines' }).getAttribute('href')
    expect(lines).to.match(/from=2026-09-03T.*&format=jsonl/)
    await expectGoodLooks(page)
    await page.keyboard.press('Escape')
    await page.goto(`${dashboard.gateway.url}/dashboard/requests?range=month`)
    await page.getByRole('button', { name: 'Export…' }).press('Enter')
    await dialog.getByRole('radio', { name: 'test' }).check()
    await dialog
      .locator('a[href*="mode=test"][href*="format=json&"], a[href$="format=json"]')
      .first()
      .waitFor()
    await expectGoodLooks(page)
  })

  it('sends no request while the page is hidden', async () => {
    const page = await dashboard.open('/requests')
    await page.getByText(name).waitFor()
    await page.waitForLoadState('networkidle')
    await page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: 'hidden' })`)
    let asked = 0
    page.on('request', () => asked++)
    await page.clock.runFor(30_000)
    expect(asked).to.equal(0)
  })

  it('keeps its filters in the address', async () => {
    const page = await dashboard.open('/requests')
    await page.getByLabel('Add a filter').selectOption('Error')
    await page
      .locator('select:focus')
      .and(page.getByLabel('Error', { exact: true }))
      .waitFor()
    await page.getByLabel('Error', { exact: true }).selectOption('rate_limit_exceeded')
    await page.waitForURL(/error_code=rate_limit_exceeded/)
    await page.getByText(name).waitFor({ state: 'detached' })
    await page.reload()
    await expectCount(rowsOf(page), 3)
    await eventually(async () =>
      expect(await page.getByLabel('Error', { exact: true }).inputValue()).to.equal(
        'rate_limit_exceeded',
      ),
    )
    await expectGoodLooks(page)
    await page.getByRole('button', { name: 'Remove the filter “Error”' }).click()
    await page.getByText(name).waitFor()
    expect(await page.getByLabel('Error', { exact: true }).count()).to.equal(0)
    await page.getByLabel('Outcome').selectOption('failed')
    await page.getByText(name).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Clear the filters' }).click()
    await page.getByText(name).waitFor()
  })

  it('opens a request of any age when its id is pasted anywhere', async () => {
    const page = await dashboard.open('/keys')
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.evaluate(`navigator.clipboard.writeText('Request ${idAt(old)} failed.')`)
    await page.keyboard.press('Control+V')
    await page.getByText('an-old-model').first().waitFor()
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor()
    await page.getByRole('button', { name: 'Search…' }).click()
    await page.getByRole('combobox', { name: 'Search' }).press('Control+V')
    await page.getByRole('option', { name: `Request ${idAt(old)}` }).click()
    await page.getByText('an-old-model').first().waitFor()
  })

  it('says which requests are archived, and the page of one names its month', async () => {
    const { gateway } = dashboard
    const month = { account_id: accountId, mode: 'live', month_at: Date.UTC(2025, 0) }
    const sums = { calls: 1, cost_nano_usd: 0 }
    await gateway.db
      .insertInto('usage_archives')
      .values({ ...month, ...sums })
      .execute()
    const page = await dashboard.open('/requests')
    const hint = page.getByText('are archived. Usage still has their sums.')
    await expectText(hint, /^Requests before .*2025.* are archived/)
    await expectGoodLooks(page)
    const one = await dashboard.open(`/requests/${idAt(Date.UTC(2025, 0, 5))}`)
    await one.getByText('The calls of 2025-01 in this account were archived').waitFor()
    await gateway.db.deleteFrom('usage_archives').execute()
  })

  it('groups failed requests by cause, with a link to the requests of each', async () => {
    const page = await dashboard.open('/requests')
    await page.getByRole('link', { name: 'Errors by cause' }).click()
    const cause = page.getByRole('listitem').filter({ hasText: 'rate_limit_exceeded' })
    await cause.getByText('The provider limits the rate of requests.').waitFor()
    await expectText(cause, /from xai[^]*Remedy: Wait[^]*2 requests/)
    await expectGoodLooks(page)
    await cause.getByRole('link', { name: 'Show these requests' }).click()
    await expectCount(rowsOf(page), 3)
  })

  it('shows one request in full: attempts, adjustments, cost calculation and a curl command', async () => {
    const answer = await dashboard.gateway.post('/v1/chat/completions', {
      ...conversation,
      model: 'openai/GPT 5 Mini',
      max_token: 7,
    })
    const id = answer.headers.get('x-request-id')!
    const page = await dashboard.open(`/requests?id=${id}`)
    await page.getByRole('heading', { name: 'Attempts' }).waitFor()
    for (const fact of [
      /Requested model\s+openai\/GPT 5 Mini\s+Catalog model\s+gpt-5-mini/,
      /max_token\s+7\s+omitted/,
      /the gateway does not store it/,
    ]) {
      await expectText(page.getByRole('main'), fact)
    }
    const calculation = page.getByRole('region', { name: 'Calculation of the cost' })
    await calculation.getByRole('row').nth(2).waitFor()
    const sums = await calculation.getByRole('row').allInnerTexts()
    const amounts = sums.slice(1).map((text) => Number(/\$([\d.]+)\s*$/.exec(text)![1]))
    const [sum, rounded] = amounts.slice(-2)
    const lines = amounts.slice(0, -2).reduce((total, one) => total + one, 0)
    expect(Math.round(lines * 1e9)).to.equal(Math.round(sum! * 1e9))
    expect(Math.round(sum! * 1e9) / 1e9).to.equal(rounded)
    await expectGoodLooks(page)
  })

  it('explains why the next provider was called', async () => {
    const page = await dashboard.open(`/requests/${idAt(now - 2 * hourMs)}`)
    await page.getByText('The provider failed, or was overloaded. xai was tried next.').waitFor()
    await page.getByText('No further attempt was made.').waitFor()
    await expectCount(page.getByText('xai said: “Slow down, <b>please</b>.”'), 2)
    await page.getByRole('heading', { name: 'Failed with' }).waitFor()
    await expectGoodLooks(page)
  })
})
