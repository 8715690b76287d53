import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { expectCount, expectGoodLooks, useDashboard } from '../support/dashboard.ts'

const pictures = process.env['PICTURES']

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
  const enterByPassword = async (page: Page) => {
    await page.getByLabel('E-mail').fill(dashboard.owner.email)
    await page.getByLabel('Password', { exact: true }).fill(dashboard.owner.password)
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
    for (const width of [390, 1280]) {
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
    await page.getByText('This device already has a passkey of yours').waitFor()
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

  it('say where they work, when the page is opened at an address', async () => {
    const page = await dashboard.open('/you')
    await add(page, 'Laptop of Ada', dashboard.owner.password)
    const dialog = page.getByRole('dialog')
    await dialog.getByText('they need a host name with https, or localhost').waitFor()
    await expectGoodLooks(page)
    await picture(page, 'address')
  })
})
