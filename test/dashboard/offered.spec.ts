import { expect } from 'chai'
import type { Page } from 'playwright-core'
import type { Role } from '../../src/core/caller.ts'
import { storeConnection } from '../support/connections.ts'
import { expectGoodLooks, useDashboard } from '../support/dashboard.ts'
import { eventually } from '../support/until.ts'

describe('actions that the dashboard offers', () => {
  const dashboard = useDashboard()

  const refusals: string[] = []
  beforeEach(() => void refusals.splice(0))
  /** Opens a page. The test fails when the gateway refuses a request of the page. */
  const open = async (...[path, look]: Parameters<typeof dashboard.open>) => {
    const page = await dashboard.open(path, look)
    page.on('response', (answer) => {
      if (answer.status() >= 400) refusals.push(`${answer.status()} ${answer.url()}`)
    })
    return page
  }
  afterEach(() => expect(refusals).to.deep.equal([]))
  const rowOf = (page: Page, email: string) => page.getByRole('row').filter({ hasText: email })
  /** Expects these buttons in the rows of the members with these e-mails. */
  const expectActs = (page: Page, expected: Readonly<Record<string, readonly string[]>>) =>
    eventually(async () => {
      for (const [email, acts] of Object.entries(expected)) {
        const row = rowOf(page, email)
        await row.waitFor()
        expect(await row.getByRole('button').allTextContents(), email).to.deep.equal(acts)
      }
    })
  const firstAccount = async () =>
    dashboard.gateway.db
      .selectFrom('accounts')
      .select('id')
      .where('is_operator', '=', 1)
      .executeTakeFirstOrThrow()

  it('offers for each member only what the reader may do', async () => {
    const { people, createAccount } = dashboard.gateway
    const accountId = await createAccount()
    const signIn = (role: Role) => people.signIn({ accountId, role })
    const [owner, admin, other] = [
      await signIn('owner'),
      await signIn('admin'),
      await signIn('member'),
    ]
    const both = await signIn('member')
    await people.join(both.personId, await createAccount(), 'member')
    await people.invite('captain@example.com', accountId, 'owner')
    await people.invite('sailor@example.com', accountId, 'member')

    const page = await open('/settings/members', { as: admin })
    await page.getByText('For a member of several accounts, ask the operators').waitFor()
    await expectActs(page, {
      [other.email]: ['New password…', 'Limits…', 'Remove…'],
      [both.email]: ['Limits…', 'Remove…'],
      'sailor@example.com': ['Withdraw…'],
      [owner.email]: [],
      [admin.email]: [],
      'captain@example.com': [],
    })
    await expectGoodLooks(page)

    // Operators have the rights of an owner in other accounts, but cannot remove the only owner.
    await people.join(both.personId, (await firstAccount()).id, 'admin')
    const operators = await open('/settings/members', { as: both })
    await expectActs(operators, {
      [owner.email]: ['New password…', 'Limits…'],
      [admin.email]: ['New password…', 'Limits…', 'Remove…'],
      'captain@example.com': ['Withdraw…'],
    })
    expect(await rowOf(operators, owner.email).getByRole('combobox').count()).to.equal(0)
  })

  it('offers the settings of a second account, whatever the role in the first account', async () => {
    const { people, createAccount } = dashboard.gateway
    const as = await people.signIn({ accountId: await createAccount(), role: 'member' })
    const second = await createAccount()
    await people.join(as.personId, second, 'owner')
    const page = await open('/you', { as })
    await page.getByRole('combobox', { name: 'Account' }).selectOption(second)
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByLabel('Name of the account').fill('The second')
    await page.getByText('Answered by the cache', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Save the name' }).click()
    await page.getByText('The account is now called The second.').waitFor()
  })

  it('offers operators their pages, also when they are only members of their first account', async () => {
    const { people, createAccount } = dashboard.gateway
    const accountId = await createAccount()
    const as = await people.signIn({ accountId, role: 'member' })
    await people.join(as.personId, (await firstAccount()).id, 'admin')
    const page = await open('/providers', { as })
    await page.getByRole('heading', { name: 'Not configured' }).waitFor()
    await page.getByRole('link', { name: 'Accounts' }).click()
    const accounts = page.getByRole('region', { name: 'Accounts' })
    await accounts.getByRole('link').first().waitFor()
    await page.goto(`${dashboard.gateway.url}/dashboard/accounts/${accountId}`)
    await page.getByRole('heading', { name: 'Invite an owner' }).waitFor()
    // In the operators' account the person is not an owner.
    await page.goto(`${dashboard.gateway.url}/dashboard/accounts/${(await firstAccount()).id}`)
    await rowOf(page, dashboard.owner.email).waitFor()
    await page.getByText('Only another owner of the gateway').waitFor()
    expect(await page.getByRole('heading', { name: 'Invite an owner' }).count()).to.equal(0)
    await expectActs(page, { [dashboard.owner.email]: [] })
  })

  it('offers only those fields of a key that its kind allows to change', async () => {
    const { gateway, owner } = dashboard
    const made = await gateway.post(
      '/api/sessions/current/key',
      { mode: 'test' },
      { key: null, ...owner },
    )
    const { id } = (await made.json()) as { id: string }
    const page = await open(`/keys/${id}`)
    await page.getByRole('button', { name: 'Revoke…' }).waitFor()
    expect(await page.getByRole('button', { name: 'Rotate…' }).count()).to.equal(0)
    await page.getByRole('button', { name: 'Change' }).click()
    await page.getByLabel('Calls at once').fill('3')
    expect(await page.getByLabel('Expires').count()).to.equal(0)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved. The change applies').waitFor()

    const connection = await storeConnection(gateway, { name: 'Editor' })
    await gateway.db
      .updateTable('api_keys')
      .set({ bound_to: id })
      .where('id', '=', connection)
      .execute()
    await page.goto(`${gateway.url}/dashboard/keys/${connection}`)
    await page.getByRole('button', { name: 'Change' }).click()
    await page.getByText('All other values are those of that key.').waitFor()
    expect(await page.getByLabel('Calls at once').count()).to.equal(0)
    await page.getByLabel('Name').fill('My editor')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: 'My editor' }).waitFor()
    await expectGoodLooks(page)
  })
})
