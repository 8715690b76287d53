import { expect } from 'chai'
import { expectCount, expectGoodLooks, useDashboard } from '../support/dashboard.ts'

describe('the API keys page of a member with bounds', () => {
  const dashboard = useDashboard()

  it('lists keys of their own, and creates, changes and revokes them within the bounds', async () => {
    const { gateway } = dashboard
    const ben = await gateway.people.signIn({ role: 'member', email: 'ben@example.com' })
    const refused = await dashboard.open('/keys', { as: ben })
    await refused.getByRole('heading', { name: 'This page is for administrators' }).waitFor()
    const bounds = { budget: { usd: '5', period: 'month' }, expires_in_days: 30 }
    const answer = await gateway.post(
      `/api/members/${ben.personId}`,
      { key_bounds: bounds },
      { method: 'PATCH', key: null, headers: dashboard.owner.headers },
    )
    expect(answer.status, await answer.text()).to.equal(200)

    // The browser does not know the role yet when this page begins to load.
    const first = await dashboard.open('/keys', { as: ben })
    await first.getByText('Create a key').first().waitFor()
    await expectCount(first.getByRole('alert'), 0)

    const page = await dashboard.open('/overview', { as: ben })
    await page.getByRole('link', { name: 'API keys' }).click()
    await page.getByText('Create a key').first().waitFor()
    await expectCount(page.getByLabel('Owner'), 0)
    await page.getByRole('link', { name: 'Create a key' }).first().click()
    await page.getByText('The bounds of your keys: $5 a month, 30 days.').waitFor()
    await page.getByText('Permissions and expiry').click()
    // Budget and expiry have a bound, models have none.
    await expectCount(page.getByText('Leave it empty for your bound.'), 2)
    await page.getByText('The key may call all models.').waitFor()
    await expectCount(page.getByLabel(/^admin /), 0)
    await expectGoodLooks(page)
    await page.getByLabel('Name').fill('mine')
    await page.getByRole('radio', { name: 'Test' }).click()
    await page.getByLabel('Budget in dollars').fill('6')
    await page.getByRole('button', { name: 'Create the key' }).click()
    await page.getByText('such a key has at most $5 (month)').first().waitFor()
    await page.getByLabel('Budget in dollars').fill('')
    await page.getByRole('button', { name: 'Create the key' }).click()
    await page.getByRole('heading', { name: 'mine', level: 1 }).waitFor()

    await page.getByRole('link', { name: 'API keys' }).click()
    const row = page.getByRole('row').filter({ hasText: 'mine' })
    await row.getByText('Somebody').waitFor()
    await page.reload()
    await row.getByText('Somebody').waitFor()
    await expectCount(page.getByRole('table').getByRole('row'), 2)
    await expectGoodLooks(page)
    await row.getByRole('link', { name: 'mine' }).click()
    await page.getByText('$0.00 spent of $5.00 a month').waitFor()
    await expectCount(page.getByRole('alert'), 0)
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke permanently' }).click()
    await page.getByText('revoked').first().waitFor()
  })
})
