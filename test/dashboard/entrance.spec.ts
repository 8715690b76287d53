import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { setUpText } from '../../src/accounts/set-up-link.ts'
import { expectGoodLooks, useDashboard } from '../support/dashboard.ts'

const hostile = '"><img src=x onerror=alert(1)>'

describe('signing in to the dashboard', () => {
  let aheadMs = 0
  const dashboard = useDashboard({ monotonic: () => performance.now() + aheadMs })

  const heading = (page: Page, name: string | RegExp) =>
    page.getByRole('heading', { level: 1, name }).waitFor()
  const signIn = async (page: Page, password: string) => {
    const { email } = dashboard.owner
    await page.getByLabel('E-mail').fill(email)
    await page.getByLabel('Password', { exact: true }).fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }
  /** The part of a link after `/dashboard`. */
  const pathOf = (link: string) => link.slice(link.indexOf('/dashboard') + '/dashboard'.length)

  it('opens the requested page after sign-in', async () => {
    const page = await dashboard.open('/requests?outcome=failed', { as: null })
    await heading(page, 'Sign in')
    await expectGoodLooks(page)
    await signIn(page, 'not the password')
    await page.getByRole('alert').getByText('The e-mail or the password is wrong.').waitFor()
    await signIn(page, dashboard.owner.password)
    await heading(page, 'Requests')
    await page.waitForURL(/\/requests\?outcome=failed$/)
  })

  it('shows how long to wait after too many attempts', async () => {
    const { email } = await dashboard.gateway.people.signIn()
    const page = await dashboard.open('', { as: null })
    await page.getByLabel('E-mail').fill(email)
    await page.getByLabel('Password', { exact: true }).fill('wrong')
    // Each attempt waits for the previous one's limit, until the next wait is the longest: one minute.
    for (let attempts = 0; attempts < 12; attempts++) {
      aheadMs += 61_000
      const body = { email, password: 'wrong' }
      const answer = await dashboard.gateway.post('/api/sessions', body, { key: null })
      expect(answer.status).to.equal(401)
    }
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: /Wait \d+ s/ }).waitFor()
    await page.clock.runFor(61_000)
    await page.getByRole('button', { name: 'Sign in', disabled: false }).waitFor()
  })

  it('creates an account for a person who signs up, when sign-up is open', async () => {
    const page = await dashboard.open('', { as: null })
    await page.getByRole('link', { name: 'Create an account' }).click()
    await heading(page, 'Create an account')
    await expectGoodLooks(page)
    await page.getByLabel('E-mail').fill('lin@example.com')
    await page.getByLabel('Name').fill(hostile)
    await page.getByLabel('Password', { exact: true }).fill('12345678')
    await page.getByRole('button', { name: 'Create the account' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByRole('button', { name: 'Show the password' }).click()
    await page.getByLabel('Password', { exact: true }).fill('a sentence of Lin')
    await page.getByRole('button', { name: 'Create the account' }).click()
    await heading(page, `Welcome, ${hostile}`)
    await expectGoodLooks(page)
  })

  it('accepts an invitation, and never sends its token in a URL', async () => {
    const { gateway } = dashboard
    const { headers } = dashboard.owner
    const asked = { email: 'grace@example.com', role: 'member' }
    const invited = await gateway.post('/api/members', asked, { key: null, headers })
    const { link, token } = (await invited.json()) as { link: string; token: string }
    const page = await dashboard.open(pathOf(link), { as: null })
    await heading(page, 'Accept the invitation')
    await page.waitForURL(/\/dashboard\/invitations$/)
    const offer =
      'Ada Lovelace invites you to default, as a member, with the e-mail grace@example.com.'
    await page.getByText(offer).waitFor()
    await expectGoodLooks(page)
    // The page keeps the invitation token after a reload.
    await page.reload()
    await page.getByLabel('Name').fill('Grace')
    await page.getByLabel('Password', { exact: true }).fill('a sentence of Grace')
    await page.getByRole('button', { name: 'Join' }).click()
    await heading(page, 'Welcome, Grace')
    await page.getByText('Ask an administrator of the account for one.').waitFor()
    await page.reload()
    await heading(page, 'Welcome, Grace')
    await page.goBack().catch(() => undefined)
    expect(gateway.logText()).to.contain('/dashboard/invitations').and.not.contain(token)
    const again = await dashboard.open(pathOf(link), { as: null })
    await again.getByRole('alert').waitFor()
    await again.getByRole('link', { name: 'sign in', exact: true }).click()
    await heading(again, 'Sign in')
  })

  it('accepts an invitation for the signed-in person, and refuses one for another e-mail', async () => {
    const { people } = dashboard.gateway
    const accountId = await dashboard.gateway.createAccount()
    const person = await people.signIn()
    const wrong = await people.invite('somebody-else@example.com', accountId)
    const page = await dashboard.open(pathOf(wrong.link), { as: person })
    await page.getByText('This invitation is for another e-mail').waitFor()
    expect(await page.getByRole('button', { name: 'Join' }).count()).to.equal(0)
    const right = await people.invite(person.email, accountId, 'admin')
    const other = await dashboard.open(pathOf(right.link), { as: person })
    await other.getByText(`You are signed in as`).waitFor()
    await expectGoodLooks(other)
    await other.getByRole('button', { name: 'Join' }).click()
    await heading(other, 'Welcome, Somebody')
  })

  it('sets a forgotten password with a link that an owner creates', async () => {
    const { gateway, owner } = dashboard
    const accountId = await gateway.createAccount()
    const { email } = await gateway.people.signIn({ accountId, role: 'member' })
    const administrator = await gateway.people.signIn({ accountId, role: 'owner' })
    const entrance = await dashboard.open('', { as: null })
    await entrance.getByText('Forgot your password?').click()
    await entrance.getByText('people password-link').waitFor()
    await expectGoodLooks(entrance)
    const members = await dashboard.open('/settings/members', { as: administrator })
    await makeLink(members, email)
    const operators = await dashboard.open(`/accounts/${accountId}`)
    const link = await makeLink(operators, email)
    const page = await dashboard.open(pathOf(link), { as: null })
    await heading(page, 'Set a new password')
    await page.waitForURL(/\/dashboard\/password$/)
    await expectGoodLooks(page)
    await page.getByLabel('New password', { exact: true }).fill(email)
    await page.getByRole('button', { name: 'Set the password' }).click()
    await page.getByRole('alert').first().waitFor()
    await page.getByLabel('New password', { exact: true }).fill(owner.password)
    await page.getByRole('button', { name: 'Set the password' }).click()
    await heading(page, 'Overview')
    const body = { email, password: owner.password }
    expect((await gateway.post('/api/sessions', body, { key: null })).status).to.equal(201)
  })

  it('shows an error for a link without a token', async () => {
    for (const path of ['/setup', '/invitations', '/password', '/setup#token=']) {
      const page = await dashboard.open(path, { as: null })
      await page.getByText('This address has no token.').waitFor()
      if (path === '/setup') await expectGoodLooks(page)
    }
  })

  it('serves pages of one-time links without caching, framing or referrers', async () => {
    const { gateway } = dashboard
    const { link } = await gateway.people.invite('b@example.com')
    const setUp = /http\S+/.exec(setUpText(gateway.url, await gateway.people.setUpLink()))![0]
    const { email } = await gateway.people.signIn()
    const password = await gateway.people.passwordLink(email)
    for (const address of [link, setUp, password.link]) {
      const { hash, search, pathname } = new URL(address)
      expect(hash).to.match(/^#token=.{20,}/)
      expect(search).to.equal('')
      const { headers } = await gateway.fetch(pathname, { key: null })
      expect(headers.get('cache-control')).to.equal('no-store')
      expect(headers.get('referrer-policy')).to.equal('no-referrer')
      expect(headers.get('content-security-policy'))
        .to.contain("script-src 'self'")
        .and.contain("frame-ancestors 'none'")
    }
  })

  it('asks for the password again after a session has ended, and keeps typed text', async () => {
    const { gateway, owner } = dashboard
    const signedIn = await gateway.post('/api/sessions', credentialsOf(owner), { key: null })
    const token = /=([^;]+)/.exec(signedIn.headers.get('set-cookie')!)![1]!
    const page = await dashboard.open('/keys/new', { as: { token } })
    await page.getByLabel('Name').fill('build server')
    await gateway.db
      .deleteFrom('sessions')
      .where('id', '=', await idOf(signedIn))
      .execute()
    await page.getByRole('button', { name: 'Create the key' }).click()
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' })
    await dialog.waitFor()
    await expectGoodLooks(page)
    await dialog.getByLabel('Password', { exact: true }).fill(owner.password)
    await dialog.getByRole('button', { name: 'Sign in again' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await page.getByLabel('Name').inputValue()).to.equal('build server')
    await page.getByRole('button', { name: 'Create the key' }).click()
    await heading(page, 'build server')
  })

  it('asks for the password again after signing out in another tab', async () => {
    const { gateway, owner } = dashboard
    const signedIn = await gateway.post('/api/sessions', credentialsOf(owner), { key: null })
    const token = /=([^;]+)/.exec(signedIn.headers.get('set-cookie')!)![1]!
    const page = await dashboard.open('/keys', { as: { token } })
    await heading(page, 'API keys')
    const tab = await page.context().newPage()
    await tab.goto(page.url())
    await tab.getByRole('button', { name: 'Sign out' }).click()
    await heading(tab, 'Sign in')
    await page.getByRole('link', { name: 'Overview' }).click()
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' })
    await dialog.waitFor()
    expect(await page.getByText('API key is').count()).to.equal(0)
    expect(await page.getByText('POST /api').count()).to.equal(0)
    await dialog.getByLabel('Password', { exact: true }).fill(owner.password)
    await dialog.getByRole('button', { name: 'Sign in again' }).click()
    await page.getByRole('link', { name: 'Create an API key' }).waitFor()
  })

  it('logs no error in a browser without a session', async () => {
    const page = await dashboard.open('/nowhere', { as: null })
    const errors: string[] = []
    page.on('console', (one) => void (one.type() === 'error' && errors.push(one.text())))
    for (const path of ['', '/overview', '/setup', '/sign-up']) {
      await page.goto(`${dashboard.gateway.url}/dashboard${path}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.waitForLoadState('networkidle')
    }
    expect(errors).to.deep.equal([])
  })

  it('waits while the gateway restarts, then reloads', async () => {
    const page = await dashboard.open('/keys')
    await heading(page, 'API keys')
    const away = page.getByText('The gateway does not answer.')
    await page.route('**/api/**', (route) => route.abort('connectionrefused'))
    await page.getByRole('link', { name: 'Requests' }).click()
    await away.waitFor()
    await page.unroute('**/api/**')
    await page.clock.runFor(3000)
    await away.waitFor({ state: 'detached' })
    await heading(page, 'Requests')
    // Both the list and the filters may have shown an error.
    await page.getByRole('alert').first().waitFor({ state: 'detached' })
  })
})

function credentialsOf({ email, password }: { email: string; password: string }) {
  return { email, password }
}

async function idOf(response: Response): Promise<string> {
  return ((await response.json()) as { session: { id: string } }).session.id
}

/** Creates a password link for the member with this e-mail, and returns the link. */
async function makeLink(page: Page, email: string): Promise<string> {
  const row = page.getByRole('row').filter({ hasText: email })
  await row.getByRole('button', { name: 'New password…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Create the link' }).click()
  await dialog.getByText('It is shown only now').waitFor()
  await expectGoodLooks(page)
  return dialog.getByRole('region', { name: 'the link' }).innerText()
}
