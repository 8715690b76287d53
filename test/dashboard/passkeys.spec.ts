import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { expectCount, expectGoodLooks, useDashboard } from '../support/dashboard.ts'
import { until } from '../support/until.ts'

const pictures = process.env['PICTURES']
const looks = [
  [280, 'light'],
  [390, 'dark'],
  [768, 'light'],
  [1280, 'dark'],
] as const

describe('passkeys in the dashboard', () => {
  // Browsers have no passkeys at an address.
  const home = () => dashboard.gateway.url.replace('127.0.0.1', 'localhost')
  const dashboard = useDashboard({}, () => [home()])

  /** A page at the named host, in a browser with an authenticator that verifies its person. */
  const openThere = async () => {
    const page = await dashboard.open('', { as: null })
    const devtools = await page.context().newCDPSession(page)
    await devtools.send('WebAuthn.enable')
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    })
    await page.goto(`${home()}/dashboard/you`)
    return page
  }
  const enterByPassword = async (page: Page, { email, password } = dashboard.owner) => {
    await page.getByLabel('E-mail').fill(email)
    await page.getByLabel('Password', { exact: true }).fill(password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'You' }).waitFor()
  }
  const add = async (page: Page, name: string, password: string) => {
    await page.getByRole('button', { name: 'Add a passkey…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill(name)
    await dialog.getByLabel('Current password', { exact: true }).fill(password)
    await dialog.getByRole('button', { name: 'Continue' }).click()
  }
  const signOut = (page: Page) =>
    page.getByRole('button', { name: 'Sign out', exact: true }).click()
  const picture = async (page: Page, name: string) => {
    if (pictures === undefined) return
    for (const [width, colorScheme] of looks) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 900 })
      await page.screenshot({ path: `${pictures}/${name}-${width}.png`, fullPage: true })
    }
  }

  it('are added with the password, sign their person in, and are removed', async () => {
    const page = await openThere()
    const byPasskey = page.getByRole('button', { name: 'Sign in with a passkey' })
    await page.getByLabel('E-mail').waitFor()
    await expectCount(byPasskey, 0)
    await enterByPassword(page)
    await add(page, 'Laptop of Ada', 'not my password')
    await page.getByRole('dialog').getByText("'current_password' is not your password.").waitFor()
    await expectGoodLooks(page)
    await picture(page, 'add')
    await page.getByRole('button', { name: 'Close' }).click()
    await add(page, 'Laptop of Ada', dashboard.owner.password)
    await page.getByText('You can sign in with the passkey Laptop of Ada.').waitFor()
    const row = page.getByRole('region', { name: 'Passkeys' }).getByRole('row').nth(1)
    await row.getByText('never').waitFor()
    await expectGoodLooks(page)
    await picture(page, 'you')
    await add(page, 'Another', dashboard.owner.password)
    await page.getByText('already has a passkey of yours').waitFor()
    await page.getByRole('button', { name: 'Close' }).click()
    await signOut(page)
    await byPasskey.waitFor()
    await expectGoodLooks(page)
    await picture(page, 'sign-in')
    await byPasskey.click()
    await page.getByRole('heading', { level: 1, name: 'You' }).waitFor()
    await row.waitFor()
    expect(await row.innerText()).not.to.contain('never')
    await signOut(page)
    await byPasskey.waitFor()
    // Removed in another browser in the meantime.
    const { headers } = dashboard.owner
    const listed = await dashboard.gateway.fetch('/api/me/passkeys', { key: null, headers })
    const { data } = (await listed.json()) as { data: { id: string }[] }
    const other = await openThere()
    await enterByPassword(other)
    await other.getByRole('button', { name: 'Remove Laptop of Ada…' }).click()
    await other.getByRole('button', { name: 'Remove the passkey' }).click()
    await other.getByText('The passkey Laptop of Ada is removed.').waitFor()
    expect(data).to.have.length(1)
    await byPasskey.click()
    await page.getByRole('alert').getByText('This gateway does not know the passkey.').waitFor()
    await expectGoodLooks(page)
    await picture(page, 'unknown')
    await page.reload()
    await page.getByLabel('E-mail').waitFor()
    await expectCount(byPasskey, 0)
  })

  it('sign in again after a session has ended, and keep the page of no other person', async () => {
    const { gateway, owner } = dashboard
    const page = await openThere()
    await enterByPassword(page)
    await add(page, 'Laptop of Ada', owner.password)
    await page.getByText('You can sign in with the passkey Laptop of Ada.').waitFor()
    const name = page.getByLabel('Name', { exact: true })
    const email = page.getByLabel('E-mail')
    const isOf = (address: string) =>
      until(`the page is of ${address}`, async () => (await email.inputValue()) === address)
    const endAndEnterAgain = async () => {
      await name.fill('Typed before')
      await gateway.db.deleteFrom('sessions').where('user_agent', 'like', 'Mozilla%').execute()
      await page.getByRole('button', { name: 'Save the name' }).click()
      const dialog = page.getByRole('dialog', { name: 'Your session has ended' })
      await dialog.waitFor()
      await expectGoodLooks(page)
      await picture(page, 'again')
      await dialog.getByRole('button', { name: 'Sign in with a passkey' }).click()
      await dialog.waitFor({ state: 'detached' })
    }
    await endAndEnterAgain()
    expect(await name.inputValue()).to.equal('Typed before')
    await signOut(page)
    const grace = { email: 'grace@example.com', name: 'Grace', password: 'a sentence of Grace' }
    await gateway.post('/api/people', grace, { key: null })
    await enterByPassword(page, { ...owner, ...grace })
    await isOf(grace.email)
    await endAndEnterAgain()
    await isOf(owner.email)
    expect(await name.inputValue()).to.equal('Ada Lovelace')
  })

  it('say where they work, when the page is opened at an address', async () => {
    const page = await dashboard.open('/you')
    await add(page, 'Laptop of Ada', dashboard.owner.password)
    const dialog = page.getByRole('dialog')
    await dialog.getByText('they need a host name with https, or localhost').waitFor()
    await expectGoodLooks(page)
    await picture(page, 'address')
  })
})
