import { expectCount, expectGoodLooks, useDashboard } from '../support/dashboard.ts'

describe('the page of a key', () => {
  const dashboard = useDashboard()

  it('shows budgets of tags, and adds, changes and removes them', async () => {
    const { gateway } = dashboard
    const made = await gateway.post(
      '/api/keys',
      { name: 'tagged', mode: 'test' },
      { key: gateway.adminKey },
    )
    const { id } = (await made.json()) as { id: string }
    const page = await dashboard.open(`/keys/${id}`)
    await page.getByRole('button', { name: 'Change' }).click()
    for (const [at, tag, usd] of [
      [1, 'team=search', '2.50'],
      [2, 'nightly', '0'],
    ] as const) {
      await page.getByRole('button', { name: 'Add a tag' }).click()
      await page.getByLabel(`Tag ${at}`).fill(tag)
      await page.getByLabel('Budget in dollars').nth(at).fill(usd)
    }
    await page.getByLabel('Budget for').nth(2).selectOption('day')
    await expectGoodLooks(page)
    await page.getByLabel('Tag 2').fill('two words')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByLabel('Tag 2').and(page.locator('[aria-invalid=true]')).waitFor()
    await page.getByLabel('Tag 2').fill('nightly')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('$0.00 spent of $2.50 a month').waitFor()
    await page.getByText('$0.00 spent of $0.00 a day').waitFor()
    await expectGoodLooks(page)
    await page.getByRole('button', { name: 'Change' }).click()
    await page.getByLabel('Tag 1').fill('')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'nightly' }).waitFor()
    await expectCount(page.getByRole('heading', { name: 'team=search' }), 0)
  })
})
