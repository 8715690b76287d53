import { expect } from 'chai'
import { expectGoodLooks, useDashboard } from '../support/dashboard.ts'

describe('the first page of the dashboard', () => {
  const dashboard = useDashboard()

  it('opens for who is signed in', async () => {
    const page = await dashboard.open()
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await page.getByText('Spent').first().waitFor()
    await expectGoodLooks(page)
  })

  it('asks anybody else to sign in', async () => {
    const page = await dashboard.open('/overview', { as: null })
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await page.getByRole('navigation').count()).to.equal(0)
    await expectGoodLooks(page)
  })
})
