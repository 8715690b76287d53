import { expectGoodLooks, useDashboard } from '../support/dashboard.ts'
import { usageRow } from '../support/usage-row.ts'

describe('the list of API keys', () => {
  const dashboard = useDashboard()

  it('is sorted by what the keys have spent, in both directions', async () => {
    const { gateway } = dashboard
    for (const [name, dollars] of Object.entries({ middle: 2, dear: 10, cheap: 1 })) {
      const made = await gateway.post(
        '/api/keys',
        { name, mode: 'live' },
        { key: gateway.adminKey },
      )
      const { id } = (await made.json()) as { id: string }
      const row = await gateway.db
        .selectFrom('api_keys')
        .selectAll()
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      const paid = { mode: 'live', account_id: row.account_id, key_id: id }
      const used = usageRow(`req_${name}`, row.created_at)
      await gateway.addUsage([{ ...used, ...paid, cost_nano_usd: dollars * 1e9 }])
    }
    const page = await dashboard.open('/keys')
    const rows = page.getByRole('region', { name: 'API keys' }).getByRole('row')
    const names = { '-spent': ['dear', 'middle', 'cheap'], spent: ['cheap', 'middle', 'dear'] }
    for (const [sort, [first, second, last]] of Object.entries(names)) {
      await page.getByRole('button', { name: 'Spent in 30 days' }).click()
      await page.waitForURL(`**/keys?sort=${sort}`)
      const text = new RegExp(`${first}[^]*${second}[^]*${last}`)
      await page.getByRole('table').filter({ hasText: text }).waitFor()
    }
    await rows.first().getByText('↑').waitFor()
    await expectGoodLooks(page)
  })
})
