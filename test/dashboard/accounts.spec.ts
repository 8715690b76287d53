import { expect } from 'chai'
import { expectCount, expectGoodLooks, expectText, useDashboard } from '../support/dashboard.ts'

describe('the page of accounts', () => {
  const dashboard = useDashboard()
  const events = async () => {
    const { adminKey: key } = dashboard.gateway
    const accounts = await dashboard.gateway.fetch('/api/accounts?search=Harbour', { key })
    const [account] = ((await accounts.json()) as { data: { id: string }[] }).data
    const path = `/api/audit?account_id=${account!.id}`
    const answer = await dashboard.gateway.fetch(path, { key })
    return ((await answer.json()) as { data: { action: string }[] }).data.map((one) => one.action)
  }

  it('creates an account, changes what it may use, and invites its owner', async () => {
    const page = await dashboard.open('/accounts')
    await page.getByRole('link', { name: 'Create an account' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Harbour office')
    await page.getByLabel('Budget in dollars').fill('25')
    await page.getByLabel('Requests a minute').fill('600')
    await page.getByRole('button', { name: 'Create the account' }).click()
    await page.getByRole('heading', { level: 1, name: 'Harbour office' }).waitFor()
    await page.getByText('of $25.00 a month').waitFor()
    await page.getByLabel('Budget in dollars').fill('9.5')
    await page.getByLabel('Budget for').selectOption('a day')
    await page.getByLabel('Calls at once').fill('0')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved. The change applies from the next call on.').waitFor()
    await page.getByText('of $9.50 a day').waitFor()
    await page.getByLabel('E-mail').fill('grace@example.com')
    await page.getByRole('button', { name: 'Create the invitation' }).click()
    await page.getByText('Send this link to grace@example.com').waitFor()
    await expectGoodLooks(page)
    expect(await events()).to.deep.equal(['invitation.create', 'account.update', 'account.create'])
  })

  it('lists accounts with their usage and budget, and finds them by name or id', async () => {
    const name = `<b>${'x'.repeat(90)}</b>`
    await dashboard.gateway.post('/api/accounts', { name }, { key: dashboard.gateway.adminKey })
    const page = await dashboard.open('/accounts')
    const rows = page.getByRole('region', { name: 'Accounts' }).getByRole('row')
    await rows.nth(1).getByText(name).waitFor()
    await expectText(rows.nth(1), /\$0\.00\s+0\s+none\s+0\s+0/)
    await expectGoodLooks(page)
    await page.getByLabel('Name or id').fill('  hARBour')
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    await page.waitForURL(/\/accounts\?q=hARBour$/)
    await page.getByText(name).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Harbour office' }).waitFor()
    await expectCount(rows, 2)
    await page.getByLabel('Name or id').fill('nobody')
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    await page.getByRole('heading', { name: 'No account matches' }).waitFor()
  })

  it('shows an error for invalid values and for an unknown account', async () => {
    const page = await dashboard.open('/accounts/new')
    await page.getByLabel('Name', { exact: true }).fill('Boats')
    await page.getByLabel('Budget in dollars').fill('9999999')
    await page.getByRole('button', { name: 'Create the account' }).click()
    await page.getByRole('alert').getByText('budget').waitFor()
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).to.equal('Boats')
    await page.goto(`${dashboard.gateway.url}/dashboard/accounts/acc_${'0'.repeat(32)}`)
    await page.getByText('There is no such account').waitFor()
    await expectGoodLooks(page)
  })
})
