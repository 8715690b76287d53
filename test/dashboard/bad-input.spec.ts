import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { expectFits, expectNoViolations, expectText, useDashboard } from '../support/dashboard.ts'
import { suiteClock } from '../support/gateway.ts'
import { makeUpAccount } from '../support/made-up-account.ts'
import { usageRow } from '../support/usage-row.ts'
import { detailOn, paths, ready } from './pages.ts'

const markup = `"><img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}`
const hostile = `${markup} ${'W'.repeat(10_000)} ‮${'é'.repeat(200)}`
const dayMs = 86_400_000

describe('pages with hostile names', () => {
  const dashboard = useDashboard()
  let page: Page
  before(async () => {
    const { gateway } = dashboard
    const { db, people } = gateway
    await makeUpAccount(gateway, { now: suiteClock(), days: 1 })
    const other = await people.signIn({ role: 'member' })
    // Writes names directly to the tables, since the API would refuse such names.
    const name = hostile
    await db.updateTable('accounts').set({ name }).execute()
    await db.updateTable('api_keys').set({ name }).execute()
    await db.updateTable('people').set({ name }).execute()
    await db
      .updateTable('people')
      .set({ email: hostile })
      .where('id', '=', other.personId)
      .execute()
    const strange = { model: hostile, asked_model: hostile, provider: hostile, error_code: hostile }
    const upstream = { upstream_model: hostile, served_model: hostile, service_tier: hostile }
    const attempts = JSON.stringify([
      { provider: hostile, upstreamModel: hostile, outcome: 'ok', startMs: 0, durationMs: 5 },
    ])
    await db
      .updateTable('usage')
      .set({ ...strange, ...upstream, attempts })
      .execute()
    const hours = db.updateTable('usage_hours').set({ provider: hostile })
    await hours.where('outcome', '=', 'ok').execute()
    page = await dashboard.open('', { width: 390, stays: true })
  })

  for (const path of paths) {
    it(`${path} shows them as text, and fits a telephone screen`, async () => {
      await expectHarmless(`/dashboard${path}`)
      const detail = await detailOn(page, path)
      if (detail !== undefined) await expectHarmless(detail)
    })
  }

  async function expectHarmless(path: string): Promise<void> {
    await page.goto(dashboard.gateway.url + path)
    await ready(page)
    expect(await page.locator('img[src="x"]').count(), path).to.equal(0)
    expect(await page.getByRole('alert').allInnerTexts(), path).to.deep.equal([])
    await expectFits(page, path)
  }
})

describe('addresses without a page', () => {
  const dashboard = useDashboard()
  let foreignIds: Record<string, string>
  before(async () => {
    const { gateway } = dashboard
    const accountId = await gateway.createAccount()
    const key = await gateway.createKey('test', { accountId, scopes: ['inference', 'admin'] })
    const made = await gateway.post('/api/keys', { name: 'theirs', mode: 'test' }, { key })
    const { id: keyId } = (await made.json()) as { id: string }
    const row = { ...usageRow('req_0000000000000000000000000000beef', suiteClock()) }
    await gateway.addUsage([{ ...row, account_id: accountId, key_id: keyId }])
    foreignIds = { '/keys': keyId, '/requests': row.id }
  })

  const strange = [
    'x'.repeat(3000),
    '%3Cscript%3Ealert(1)%3C%2Fscript%3E',
    '%00%1b',
    '%E0%A4%A',
    '..%2f..%2fme',
    '__proto__',
    '%20',
  ]
  const refused = async (page: Page, name: string) => {
    await expectText(page.getByRole('alert').first(), /There is no|not found|no such/i)
    await expectFits(page, name)
  }

  for (const path of ['/keys', '/requests']) {
    it(`${path}: shows an error for an id of another account, and for malformed ids`, async () => {
      const page = await dashboard.open(`${path}/${foreignIds[path]}`)
      await refused(page, 'of another account')
      await expectNoViolations(page)
      await page.setViewportSize({ width: 390, height: 800 })
      for (const id of strange) {
        await page.goto(`${dashboard.gateway.url}/dashboard${path}/${id}`)
        await refused(page, id)
      }
    })
  }

  it('show that the page was not found', async () => {
    const page = await dashboard.open('/no-such-page/%3Cb%3E')
    await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor()
    await page.getByRole('button', { name: 'Go to the overview' }).click()
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  })

  it('show members who may open a page that they may not open', async () => {
    const member = await dashboard.gateway.people.signIn({
      accountId: await dashboard.gateway.createAccount(),
      role: 'member',
    })
    const page = await dashboard.open('/overview', { as: member })
    await ready(page)
    const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link')
    const shown = await links.evaluateAll((all) => all.map((one) => one.getAttribute('href')))
    expect(shown).not.to.include('/dashboard/keys')
    for (const path of ['/keys', '/keys/new']) {
      await page.goto(`${dashboard.gateway.url}/dashboard${path}`)
      const main = page.getByRole('main')
      await main
        .getByText(/administrator|owner/i)
        .first()
        .waitFor()
      await expectNoViolations(page)
    }
  })
})

describe('clocks and sums', () => {
  const dashboard = useDashboard()
  const rich = 'req_00000000000000000000000000001000'
  const poor = 'req_00000000000000000000000000000001'
  before(async () => {
    const { gateway } = dashboard
    const [keyId] = await makeUpAccount(gateway, { now: suiteClock(), days: 2 })
    const { account_id } = await gateway.db
      .selectFrom('api_keys')
      .select('account_id')
      .where('id', '=', keyId!)
      .executeTakeFirstOrThrow()
    // Removes all other usage.
    await gateway.db.deleteFrom('usage').execute()
    await gateway.db.deleteFrom('usage_hours').execute()
    const at = suiteClock() - 3_600_000
    const one = { account_id, key_id: keyId!, mode: 'live', cost_status: 'exact' }
    await gateway.addUsage([
      {
        ...usageRow(rich, at),
        ...one,
        cost_nano_usd: 1_000_000_000_000_000,
        ...priced('1000000', 1),
      },
      { ...usageRow(poor, at), ...one, cost_nano_usd: 1, ...priced('0.000000001', 1) },
    ])
  })
  const priced = (price: string, units: number) => ({
    input_tokens: units,
    output_tokens: 0,
    pricing: JSON.stringify({ prices: { input_tokens: price } }),
  })

  it('a sum of a million dollars and a billionth of a dollar is exact', async () => {
    const page = await dashboard.open('/overview')
    await page.getByTitle('$1,000,000.000000001').first().waitFor()
    for (const [id, amount] of [
      [rich, '$1,000,000.00'],
      [poor, '$0.000000001'],
    ] as const) {
      await page.goto(`${dashboard.gateway.url}/dashboard/requests/${id}`)
      await page.getByText(amount).first().waitFor()
      expect(await page.getByText('e-9').count()).to.equal(0)
    }
  })

  const clocks = {
    'in the earliest time zone': { timezoneId: 'Pacific/Kiritimati' },
    'a day behind': { clockMs: suiteClock() - dayMs, timezoneId: 'Asia/Kolkata' },
    'a day ahead': { clockMs: suiteClock() + dayMs, timezoneId: 'Pacific/Pago_Pago' },
  }
  for (const [name, look] of Object.entries(clocks)) {
    it(`pages show no invalid date with a clock ${name}`, async () => {
      const page = await dashboard.open('/overview', look)
      for (const path of ['/overview', '/requests', '/keys', `/requests/${poor}`]) {
        if (path !== '/overview') await page.goto(`${dashboard.gateway.url}/dashboard${path}`)
        await ready(page)
        const text = await page.getByRole('main').innerText()
        expect(text, path).not.to.match(/Invalid Date|NaN|undefined|null/)
        expect(await page.getByRole('alert').count(), path).to.equal(0)
      }
    })
  }

  it('times name their time zone', async () => {
    const page = await dashboard.open(`/requests/${poor}`, { timezoneId: 'Pacific/Kiritimati' })
    await ready(page)
    await page.locator('time').first().waitFor()
    const titles = await page
      .locator('time')
      .evaluateAll((all) => all.map((one) => one.getAttribute('title') ?? ''))
    for (const title of titles) expect(title).to.match(/GMT\+14/)
  })
})
