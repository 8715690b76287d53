import { expect } from 'chai'
import { expectCount, expectGoodLooks, expectText, useDashboard } from '../support/dashboard.ts'

describe('the page of the signed-in person', () => {
  const dashboard = useDashboard()

  it('changes name and password', async () => {
    const { gateway } = dashboard
    const grace = { email: 'grace@example.com', name: 'Grace', password: 'a sentence of Grace' }
    const signedUp = await gateway.post('/api/people', grace, { key: null })
    const token = /=([^;]+)/.exec(signedUp.headers.get('set-cookie')!)![1]!
    const page = await dashboard.open('/you', { as: { token } })
    await page.getByLabel('Name').fill('Grace Hopper')
    await page.getByRole('button', { name: 'Save the name' }).click()
    await page.getByRole('status').getByText('Your name is now Grace Hopper.').waitFor()
    const change = async (current: string, next: string) => {
      await page.getByLabel('Current password', { exact: true }).fill(current)
      await page.getByLabel('New password', { exact: true }).fill(next)
      await page.getByRole('button', { name: 'Change the password' }).click()
    }
    await change('not it', 'another sentence')
    await page.getByText("'current_password' is not your password.").waitFor()
    await change(grace.password, grace.email)
    await page.getByText(/'new_password'/).waitFor()
    await change(grace.password, 'another sentence')
    await page.getByText('Your password is changed').waitFor()
    await expectGoodLooks(page)
    const again = { email: grace.email, password: 'another sentence' }
    expect((await gateway.post('/api/sessions', again, { key: null })).status).to.equal(201)
  })

  it('waits for the session before it changes data, however early a button is pressed', async () => {
    const page = await dashboard.open('/you')
    await page.getByText('Ada Lovelace').first().waitFor()
    const { promise: mayLoad, resolve: load } = Promise.withResolvers<void>()
    const asked: string[] = []
    page.on('request', (request) => void asked.push(`${request.method()} ${request.url()}`))
    await page.route('**/api/sessions/current', async (route) => {
      await mayLoad
      await route.continue()
    })
    await page.goto(`${dashboard.gateway.url}/dashboard/keys/new`)
    await page.getByLabel('Name').fill('An early key')
    await page.getByRole('button', { name: 'Create the key' }).click()
    expect(asked.filter((one) => one.startsWith('POST'))).to.deep.equal([])
    load()
    await page.getByRole('heading', { name: 'An early key', level: 1 }).waitFor()
    expect(asked.filter((one) => one.startsWith('POST'))).to.have.length(1)
  })

  it('lists sessions of the person, and ends one or all others', async () => {
    const { gateway } = dashboard
    const person = await gateway.people.signIn()
    const others = await Promise.all(
      Array.from({ length: 3 }, () => gateway.people.signInAgain(person)),
    )
    const page = await dashboard.open('/you', { as: person })
    const rows = page.getByRole('region', { name: 'Sessions' }).getByRole('row')
    await rows.nth(4).waitFor()
    await expectGoodLooks(page)
    await expectCount(rows.getByText('this one'), 1)
    await page.getByRole('button', { name: 'Sign out…' }).first().click()
    await page.getByRole('button', { name: 'Sign out the device' }).click()
    await page.getByText('is signed out.').waitFor()
    await rows.nth(4).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Sign out everywhere else…' }).click()
    await page.getByRole('button', { name: 'Sign out everywhere else', exact: true }).click()
    await page.getByText('You are signed out everywhere else.').waitFor()
    await rows.nth(2).waitFor({ state: 'detached' })
    for (const { headers } of others) {
      expect((await gateway.fetch('/api/me', { key: null, headers })).status).to.equal(401)
    }
    const { headers } = person
    expect((await gateway.fetch('/api/me', { key: null, headers })).status).to.equal(200)
  })

  it('cuts nothing on a telephone, where sessions have three lines', async () => {
    const { gateway } = dashboard
    const accountId = await gateway.createAccount()
    const person = await gateway.people.signIn({ accountId })
    await gateway.people.signInAgain(person)
    const address = '2001:db8:85a3:8d31:1319:8a2e:a370:7348'
    const ofPerson = gateway.db.updateTable('sessions').where('person_id', '=', person.personId)
    await ofPerson.set({ address }).execute()
    const account = gateway.db.updateTable('accounts').where('id', '=', accountId)
    await account.set({ name: 'W'.repeat(60) }).execute()
    const member = gateway.db.updateTable('members').where('account_id', '=', accountId)
    const budget = { budget_nano_usd: 123_456_000_000_000, budget_period: 'month' } as const
    await member.set({ ...budget, sandbox_only: 1 }).execute()
    const page = await dashboard.open('/you', { as: person, width: 390 })
    for (const width of [390, 320, 280]) {
      await page.setViewportSize({ width, height: 800 })
      for (const name of ['Sessions', 'Accounts']) {
        const table = page.getByRole('region', { name })
        const row = table.locator('tbody tr').first()
        await row.waitFor()
        const cut = await table.evaluate((box) => box.scrollWidth - box.clientWidth)
        expect(cut, `${name} at ${width}`).to.equal(0)
        const [first, act] = await Promise.all(
          [row.locator('.first'), row.locator('.act')].map((cell) => cell.boundingBox()),
        )
        expect(act!.x).to.be.greaterThan(first!.x)
      }
    }
    await expectText(page.getByRole('region', { name: 'Accounts' }), /Joined.*sandbox only/s)
    await page.setViewportSize({ width: 390, height: 800 })
    const session = page.getByRole('region', { name: 'Sessions' }).locator('tbody tr').first()
    expect((await session.boundingBox())!.height).to.be.lessThan(100)
  })

  it('leaves an account, and refuses when the person is its last owner', async () => {
    const { gateway } = dashboard
    const own = await gateway.createAccount()
    const person = await gateway.people.signIn({ accountId: own })
    const other = await gateway.createAccount()
    await gateway.people.join(person.personId, other, 'member')
    const page = await dashboard.open('/you', { as: person })
    const rows = page.getByRole('region', { name: 'Accounts' }).getByRole('row')
    const leave = async (role: string) => {
      await rows.filter({ hasText: role }).getByRole('button', { name: 'Leave…' }).click()
      await page.getByRole('button', { name: 'Leave the account' }).click()
    }
    await leave('owner')
    await page.getByRole('alert').getByText('the last owner').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await leave('member')
    await page.getByText('You have left other.').waitFor()
    await rows.nth(2).waitFor({ state: 'detached' })
    await gateway.people.signIn({ accountId: own })
    await leave('owner')
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
  })
})
