import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import type { components } from '../../generated/types.ts'
import { copyBy, expectCount, expectGoodLooks, useDashboard } from '../support/dashboard.ts'
import { expectError } from '../support/expect-error.ts'
import { eventually } from '../support/until.ts'

const hostile = '"><script>alert(1)</script>'

describe('the settings of an account', () => {
  const dashboard = useDashboard()

  const part = (page: Page, name: string) =>
    page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name }).click()
  const said = (page: Page, text: string | RegExp) =>
    page.getByRole('status').getByText(text).waitFor()

  it('show name, budget, limits and the cache', async () => {
    const page = await dashboard.open('/settings')
    await page.getByLabel('Name of the account').fill(hostile)
    await page.getByRole('button', { name: 'Save the name' }).click()
    await said(page, `The account is now called ${hostile}.`)
    await page.getByRole('button', { name: 'Change' }).click()
    await expectGoodLooks(page)
    await page.getByLabel('Budget in dollars').fill('1000000.000000001')
    await page.getByLabel('Tokens a minute').fill('5000')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await said(page, 'Budget and limits are changed')
    await page.getByText('$0.00 spent of $1,000,000.00 a month').waitFor()
    await page.getByText('5,000, set for this account').waitFor()
    await page.getByText('6,000, the default of the gateway').waitFor()
    await page.getByText('The cache is on.').waitFor()
    await expectGoodLooks(page)
    const [account] = await dashboard.gateway.db
      .selectFrom('accounts')
      .select(['name', 'budget_nano_usd', 'tokens_per_minute'])
      .execute()
    expect(account).to.deep.equal({
      name: hostile,
      budget_nano_usd: 1_000_000_000_000_001,
      tokens_per_minute: 5000,
    })
  })

  it('let owners invite members, change their roles and remove them', async () => {
    const { gateway } = dashboard
    const grace = await gateway.people.signIn({ role: 'member', email: 'grace@example.com' })
    const page = await dashboard.open('/settings/members')
    const row = page.getByRole('row').filter({ hasText: grace.email })
    await row.getByRole('combobox').selectOption('admin')
    await said(page, 'Somebody is now admin.')
    await page.getByLabel('E-mail').fill('grace@example.com')
    await page.getByRole('button', { name: 'Create the link' }).click()
    await page.getByText('is already a member').waitFor()
    await page.getByLabel('E-mail').fill('lin@example.com')
    await page.getByRole('button', { name: 'Create the link' }).click()
    await said(page, 'lin@example.com is invited.')
    // After an invitation, the form shows the default role again.
    await eventually(async () =>
      expect(await page.getByLabel('Role', { exact: true }).inputValue()).to.equal('member'),
    )
    const link = await page.getByRole('region', { name: 'the link' }).textContent()
    expect(link).to.match(/\/dashboard\/invitations#token=/)
    await expectGoodLooks(page)
    await page.getByRole('button', { name: 'Withdraw…' }).click()
    await page.getByRole('button', { name: 'Withdraw the invitation' }).click()
    await said(page, 'The invitation of lin@example.com is withdrawn.')
    const created = await gateway.fetch('/api/keys', {
      method: 'POST',
      key: null,
      headers: { ...grace.headers, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'nightly', mode: 'test', scopes: ['inference', 'admin'] }),
    })
    expect(created.status).to.equal(201)
    await row.getByRole('button', { name: 'Remove…' }).click()
    await page.getByRole('dialog', { name: 'Remove Somebody' }).waitFor()
    await page.getByText('nightly (inference, admin)').waitFor()
    await expectGoodLooks(page)
    // Closing the dialog returns the focus to the button that opened the dialog.
    await page.keyboard.press('Escape')
    await page.locator('button:focus', { hasText: 'Remove…' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Remove the member' }).click()
    await said(page, 'Somebody is no longer a member. Remaining keys: nightly.')
    await row.waitFor({ state: 'detached' })
    // The last owner can neither remove nor demote themselves here.
    const own = page.getByRole('row').filter({ hasText: dashboard.owner.email })
    await expectCount(own.getByRole('combobox'), 0)
    await expectCount(own.getByRole('button'), 0)
  })

  it('let owners limit what a member may spend, who sees it on their own page', async () => {
    const { gateway } = dashboard
    const ada = await gateway.people.signIn({ role: 'member', email: 'limited@example.com' })
    const page = await dashboard.open('/settings/members')
    const row = page.getByRole('row').filter({ hasText: ada.email })
    await row.getByRole('button', { name: 'Limits of Somebody' }).click()
    const dialog = page.getByRole('dialog', { name: 'Limits of Somebody' })
    await dialog.getByLabel('Budget in dollars').fill('20')
    await dialog.getByLabel('Calls at once').fill('3')
    await dialog.getByLabel('Only the sandbox').check()
    await expectGoodLooks(page)
    await dialog.getByRole('button', { name: 'Save the limits' }).click()
    await said(page, 'The limits of Somebody are changed.')
    await row.getByText('$20.00 left').waitFor()
    await row.getByText('sandbox only').waitFor()
    await expectGoodLooks(page)
    const own = await dashboard.open('/you', { as: ada })
    await own.getByRole('region', { name: 'Accounts' }).getByText('$20.00 left').waitFor()
    await expectGoodLooks(own)
  })

  it('let owners set bounds of the keys that a member, or an invited person, creates', async () => {
    const { gateway } = dashboard
    const ben = await gateway.people.signIn({ role: 'member', email: 'ben@example.com' })
    const page = await dashboard.open('/settings/members')
    const row = page.getByRole('row').filter({ hasText: ben.email })
    await row.getByRole('button', { name: 'Limits of Somebody' }).click()
    const dialog = page.getByRole('dialog', { name: 'Limits of Somebody' })
    const bounds = dialog.getByRole('group', { name: 'Bounds of each key' })
    await dialog.getByLabel('Keys of their own').check()
    await bounds.getByRole('button', { name: 'Choose models' }).click()
    await page.getByPlaceholder('Any name of a model').fill('gpt-5-mini')
    await page.getByRole('option', { name: 'gpt-5-mini' }).first().click()
    await page.getByRole('button', { name: 'Done' }).click()
    await bounds.getByLabel('Expires within days').fill('30')
    await bounds.getByLabel('Budget in dollars').fill('5')
    await bounds.getByLabel('Calls at once').fill('2')
    await expectGoodLooks(page)
    await dialog.getByRole('button', { name: 'Save the limits' }).click()
    await said(page, 'The limits of Somebody are changed.')
    await row.getByText('own keys').waitFor()
    const make = (more: object) =>
      gateway.post(
        '/api/keys',
        { name: 'own', mode: 'test', ...more },
        { key: null, headers: ben.headers },
      )
    const made = await make({})
    expect(made.status).to.equal(201)
    const key = (await made.json()) as components['schemas']['CreatedApiKey']
    expect(key).to.deep.include({ models: ['gpt-5-mini'] })
    expect([key.budget?.amount.usd, key.limits.concurrency]).to.deep.equal(['5', 2])
    const wide = { models: null, expires_at: null, budget: null, limits: { concurrency: 3 } }
    for (const [param, value] of Object.entries(wide)) {
      await expectError(await make({ [param]: value }), {
        status: 403,
        code: 'insufficient_scope',
        param,
      })
    }
    // The dialog shows the bounds again, and without the choice there are none.
    await row.getByRole('button', { name: 'Limits of Somebody' }).click()
    await bounds.getByText('gpt-5-mini').waitFor()
    expect(await bounds.getByLabel('Budget in dollars').inputValue()).to.equal('5')
    await dialog.getByLabel('Keys of their own').uncheck()
    await dialog.getByRole('button', { name: 'Save the limits' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect((await make({})).status).to.equal(403)
    await page.getByLabel('E-mail').fill('lin@example.com')
    await page.getByLabel('Budget in dollars').fill('20')
    await page.getByLabel('Keys of their own').check()
    await page.getByLabel('Expires within days').fill('90')
    await page.getByRole('button', { name: 'Create the link' }).click()
    const open = page.getByRole('row').filter({ hasText: 'lin@example.com' })
    await open.getByText('$20 a month, own keys (90 days)').waitFor()
    await expectGoodLooks(page)
  })

  it('show the audit log, with filters in the address', async () => {
    const { gateway, owner } = dashboard
    for (const name of ['one', 'two', hostile]) {
      const body = { name, mode: 'test' }
      await gateway.post('/api/keys', body, { key: null, headers: owner.headers })
    }
    for (const email of [owner.email, owner.email, 'nobody@example.com'])
      await gateway.post('/api/sessions', { email, password: 'not this one' }, { key: null })
    const page = await dashboard.open('/settings')
    await part(page, 'Audit log')
    const acts = page.getByRole('region', { name: 'Actions' }).getByRole('row')
    await acts.filter({ hasText: 'Somebody failed to sign in as Ada Lovelace, 2 times' }).waitFor()
    await acts
      .filter({ hasText: 'Somebody failed to sign in as an unknown person, once' })
      .waitFor()
    await acts.filter({ hasText: `Ada Lovelace created the key ${hostile}` }).waitFor()
    await acts.filter({ hasText: 'used a set-up link' }).waitFor()
    await expectGoodLooks(page)
    await page.getByLabel('Action', { exact: true }).selectOption('key.create')
    await acts.filter({ hasText: 'used a set-up link' }).waitFor({ state: 'detached' })
    await acts.filter({ hasText: 'created the key two' }).waitFor()
    await page.getByRole('button', { name: 'two', exact: true }).click()
    await acts.filter({ hasText: 'created the key one' }).waitFor({ state: 'detached' })
    await expectCount(acts, 2)
    await page.waitForURL(/action=key.create&target=key_/)
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Download CSV' }).click()
    const file = await download
    expect(file.suggestedFilename()).to.match(/^audit-export-.*\.csv$/)
    const lines = readFileSync(await file.path(), 'utf8')
      .trimEnd()
      .split('\r\n')
    expect(lines).to.have.length(2)
    expect(lines[1]).to.include(',two,')
    await acts.getByText('What changed').click()
    await acts.getByText('test', { exact: true }).waitFor()
    expect(await copyBy(page, 'Copy the log as text')).to.match(
      /; Ada Lovelace \(usr_\w+\); created the key two \(key_\w+\); from /,
    )
    await page.goto(page.url().replace(/target=\w+/, 'target=key_0'))
    await page.getByText('No actions yet').waitFor()
  })

  it('are not for members; the page names who can help', async () => {
    const member = await dashboard.gateway.people.signIn({ role: 'member' })
    const page = await dashboard.open('/settings/members', { as: member })
    await page.getByText('This page is for administrators').waitFor()
    expect(await page.getByRole('link', { name: 'Settings' }).count()).to.equal(0)
    await expectGoodLooks(page)
  })

  it('do not let admins change owners', async () => {
    const admin = await dashboard.gateway.people.signIn({ role: 'admin' })
    const page = await dashboard.open('/settings/members', { as: admin })
    const owner = page.getByRole('row').filter({ hasText: dashboard.owner.email })
    await owner.waitFor()
    await expectCount(owner.getByRole('combobox'), 0)
    const roles = page.getByLabel('Role').first().getByRole('option')
    await expectCount(roles, 2)
  })
})
