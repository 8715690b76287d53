import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { nanoPerUsd, setBudgetOfAccount } from '../support/budgets.ts'
import { expectCount, expectGoodLooks, expectText, useDashboard } from '../support/dashboard.ts'
import { suiteClock } from '../support/gateway.ts'
import { eventually, until } from '../support/until.ts'
import { usageRow } from '../support/usage-row.ts'

const dayMs = 86_400_000

describe("the dashboard's overview", () => {
  const dashboard = useDashboard({ variables: { OPENAI_API_KEY: 'sk-of-no-account' } })

  it('shows the first steps while nothing was used', async () => {
    const page = await dashboard.open('/overview')
    await page.getByRole('link', { name: 'Create an API key' }).waitFor()
    await page.getByRole('link', { name: 'Or open the playground' }).waitFor()
    await expectGoodLooks(page)
    await dashboard.gateway.post('/v1/chat/completions', {
      model: 'gpt-5-mini',
      messages: [{ role: 'user', content: 'A lighthouse' }],
    })
    await page.reload()
    await page.getByRole('button', { name: 'Show test keys' }).click()
    await page.getByRole('button', { name: /^Requests 1 / }).waitFor()
  })

  it('shows usage compared with the previous range, as plots and as numbers', async () => {
    const { gateway, owner } = dashboard
    const session = await gateway.fetch('/api/sessions/current', { key: null, ...owner })
    const { person } = (await session.json()) as {
      person: { memberships: { account_id: string }[] }
    }
    const base = { account_id: person.memberships[0]!.account_id, mode: 'live' }
    const now = suiteClock()
    const rows = [
      { cost_nano_usd: 1_000_000_000_000_000, model: 'dear', images: 3 },
      { cost_nano_usd: 1, model: '<b>cheap</b>', input_tokens: 10, output_tokens: 5 },
      { cost_nano_usd: 0, cache: 'hit', saved_nano_usd: 250_000_000, model: 'dear' },
      { cost_nano_usd: 0, outcome: 'failed', error_code: 'timeout', model: 'dear' },
      { cost_nano_usd: 500_000_000_000_000, model: 'dear', at: now - 40 * dayMs },
    ]
    await gateway.addUsage(
      rows.map((one, index) => ({ ...usageRow(`req_${index}`, now - dayMs), ...base, ...one })),
    )
    const page = await dashboard.open('/overview')
    for (const name of [
      /^Spent \$1,000,000\.00 100% more than before$/,
      /^Requests 4 /,
      /^Pictures 3 /,
      /^Cache savings \$0\.25 /,
      /^Error rate 25\.0% 0\.0% before$/,
    ]) {
      await page.getByRole('button', { name }).waitFor()
    }
    const models = page.getByRole('region', { name: 'By model' })
    await expectCount(models.getByRole('row'), 3)
    await models.getByRole('link', { name: '<b>cheap</b>' }).waitFor()
    await expectGoodLooks(page)

    await page.getByRole('button', { name: /^Cache savings/ }).click()
    await page.getByRole('button', { name: 'By model' }).click()
    await page.waitForURL(/metric=saved.*split=model/)
    await page.getByRole('button', { name: 'Show the numbers' }).click()
    const numbers = page.getByRole('region', { name: 'Cache savings' })
    await numbers.getByRole('columnheader', { name: 'dear' }).waitFor()
    await numbers.getByRole('cell', { name: '$0.25' }).waitFor()
    await expectGoodLooks(page)
    await models.getByRole('link', { name: 'dear' }).click()
    await page.getByRole('region', { name: 'Requests' }).waitFor()
    await page.waitForURL(/[?&]model=dear(&|$)/)
  })

  it('shows what the month will cost, how long calls take, and how long budgets last', async () => {
    const { gateway } = dashboard
    const page = await dashboard.open('/overview')
    const pace = page.getByRole('region', { name: 'Forecast, latency and budgets' })
    await expectText(
      pace,
      /This month\s*\$1,000,000\.00 so far, about \$[\d,]+ at the pace of the last 7 days/,
    )
    await expectText(pace, /Latency\s*no answered calls in this time/)
    await setBudgetOfAccount(gateway, { nanoUsd: 4_000_000 * nanoPerUsd, period: 'total' })
    await page.reload()
    await expectText(pace, /The account.*\$2,500,000\.00 left.*Spent about .*, at this pace/s)
    await expectGoodLooks(page)
    await setBudgetOfAccount(gateway, null)
    const ada = await gateway.people.signIn({ role: 'member', email: 'limited@example.com' })
    const limited = { budget_nano_usd: 10 * nanoPerUsd, budget_period: 'total' } as const
    await gateway.db
      .updateTable('members')
      .set(limited)
      .where('person_id', '=', ada.personId)
      .execute()
    await page.reload()
    await expectText(pace, /Somebody.*\$10\.00 left.*Not used in the last 7 days/s)
    await expectGoodLooks(page)
    await pace.getByRole('link', { name: 'Somebody' }).click()
    await page.waitForURL(/\/settings\/members$/)
  })

  it('shows the values of each bar, and opens its requests', async () => {
    const page = await dashboard.open('/overview?metric=requests')
    const bars = page.getByRole('list', { name: 'Requests over time' })
    const bar = bars.getByRole('link', {
      name: /: 4, From providers 2, From the cache 1, Failed 1$/,
    })
    // Beside its parts, which have values of their own.
    await bar.hover({ position: { x: 1, y: 5 } })
    const values = /4\s+From providers\s+2\s+From the cache\s+1\s+Failed\s+1$/
    await expectText(page.locator('.tip'), values)
    await bars.getByRole('link').last().focus()
    await page.keyboard.press('ArrowLeft')
    await expectFocus(page, /: 4, /)
    await expectGoodLooks(page)
    await page.getByRole('button', { name: 'Failed', exact: true }).click()
    await bars.getByRole('link', { name: /: 1, Failed 1$/ }).press('Enter')
    const rows = page.getByRole('region', { name: 'Requests' }).getByRole('row')
    await expectCount(rows, 2)
    expect(filtersOf(page.url())).to.include({ ...yesterday(), outcome: 'failed' })
  })

  it('opens the requests of one series by its part of a bar', async () => {
    const page = await dashboard.open('/overview?metric=requests&split=model')
    const bars = page.getByRole('list', { name: 'Requests over time' })
    await bars.getByRole('link', { name: /^dear, [^,]+: 3$/ }).hover()
    await expectText(page.locator('.tip .pointed'), /^dear\s+3$/)
    await bars.getByRole('link', { name: /: 4, dear 3, <b>cheap<\/b> 1$/ }).focus()
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('ArrowUp')
    await expectFocus(page, /^<b>cheap/)
    await expectText(page.locator('.tip .pointed'), /^<b>cheap<\/b>\s+1$/)
    await expectGoodLooks(page)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    const rows = page.getByRole('region', { name: 'Requests' }).getByRole('row')
    await expectCount(rows, 4)
    expect(filtersOf(page.url())).to.deep.equal({ ...yesterday(), mode: 'live', model: 'dear' })
    // The list of requests has no filter for calls without a person.
    const people = await dashboard.open('/overview?metric=requests&split=member')
    await people.getByRole('link', { name: /^\w+ \d+: 4$/ }).click()
    await people.waitForURL(/\/requests\?/)
    expect(filtersOf(people.url())).to.deep.equal({ ...yesterday(), mode: 'live' })
  })

  it('reports calendar months and chosen dates by provider and by person, also as CSV', async () => {
    const page = await dashboard.open('/overview')
    const at = new Date(suiteClock() - 40 * dayMs)
    await page.getByLabel('Calendar month').selectOption(at.toISOString().slice(0, 7))
    await page.getByRole('button', { name: /^Requests 1 / }).waitFor()
    const first = `${at.toISOString().slice(0, 7)}-01`
    await page.getByRole('button', { name: 'Choose dates', exact: true }).click()
    await page.getByLabel('Last day').fill(new Date(suiteClock()).toISOString().slice(0, 10))
    await page.getByRole('button', { name: /^Requests 5 / }).waitFor()
    await page.getByRole('button', { name: 'By person' }).click()
    await page.getByRole('region', { name: 'By person' }).getByText('no person').waitFor()
    await page.getByRole('button', { name: 'By provider' }).click()
    await page.getByRole('region', { name: 'By provider' }).getByRole('row').nth(1).waitFor()
    await expectGoodLooks(page)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download CSV' }).click(),
    ])
    expect(new URL(download.url()).searchParams.get('from')).to.equal(`${first}T00:00:00.000Z`)
    const lines = readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\n')
    expect(lines[0]).to.match(/^day,provider,calls,/)
    expect(lines.length).to.be.above(2)
  })

  it('shows refused calls, which have no row among the requests', async () => {
    const { gateway } = dashboard
    const key = await gateway.createKey('live')
    await gateway.allow({ budget_nano_usd: 0, budget_period: 'total' }, key)
    const body = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Hello' }] }
    for (const status of [402, 402]) {
      expect((await gateway.post('/v1/chat/completions', body, { key })).status).to.equal(status)
    }
    await gateway.post('/v1/chat/completions', { ...body, model: 'no-such-model' }, { key })
    await gateway.post('/v1/chat/completions', body, { key: 'mag_live_wrong' })
    const page = await dashboard.open('/overview')
    await page.getByText('3 calls were refused: budget spent (2), unknown model (1)').click()
    const refused = page.getByRole('region', { name: 'Refused calls' })
    await refused
      .getByRole('row', { name: /^budget spent Raise the budget .* live key 2 / })
      .waitFor()
    await expectGoodLooks(page)
    await refused.getByRole('link', { name: 'live key' }).first().click()
    await page.getByText('3 calls were refused: ').waitFor()
    const errors = await dashboard.open('/requests/errors')
    await errors.getByRole('row', { name: /^wrong key .* does not exist 1 / }).waitFor()
  })

  it('retries reports that the gateway refuses because of others of the account', async () => {
    const page = await dashboard.open('/keys')
    let refused = 0
    await page.route('**/api/usage?*', async (route) => {
      if (refused++ >= 4) return route.continue()
      const error = { message: 'Busy.', type: 'overloaded_error', code: 'overloaded', param: null }
      await route.fulfill({ status: 503, headers: { 'retry-after': '1' }, json: { error } })
    })
    await page.getByRole('link', { name: 'Overview' }).click()
    await until('the first retries wait', () => refused > 0)
    await page.clock.fastForward(2000)
    await page.getByRole('button', { name: /^Spent/ }).waitFor()
    expect(refused).to.be.above(4)
  })
})

/** Waits until the element with the focus has such an accessible name. */
async function expectFocus(page: Page, name: RegExp): Promise<void> {
  await eventually(async () =>
    expect(await page.evaluate('document.activeElement.ariaLabel')).to.match(name),
  )
}

function filtersOf(url: string): Record<string, string> {
  return Object.fromEntries(new URL(url).searchParams)
}

/** The filter of the requests of the day before the clock's, in UTC. */
function yesterday(): { from: string; to: string } {
  const day = Math.floor((suiteClock() - dayMs) / dayMs) * dayMs
  return { from: new Date(day).toISOString(), to: new Date(day + dayMs).toISOString() }
}
