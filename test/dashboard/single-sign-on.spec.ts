import { expectCount, expectGoodLooks, useDashboard } from '../support/dashboard.ts'
import { oidcVariables } from '../support/oidc-gateway.ts'
import { startOpenIdProvider, type TestOpenIdProvider } from '../support/openid-provider.ts'

describe('signing in to the dashboard with OpenID Connect', () => {
  let provider: TestOpenIdProvider
  before(async () => {
    const grace = { email: 'grace@example.com', email_verified: true, name: 'Grace Hopper' }
    provider = await startOpenIdProvider({ people: { grace: { ...grace, groups: ['owners'] } } })
  })
  after(() => provider.stop())
  const options = {
    file: { oidc_roles: { owners: 'owner' } },
    get variables() {
      return {
        ...oidcVariables(provider),
        OIDC_LABEL: 'Sign in with Example',
        PASSWORD_SIGN_IN: 'closed',
      }
    },
  }
  const dashboard = useDashboard(options, () => [provider.issuer])

  it('opens the requested page, after a refusal that names the reason', async () => {
    const page = await dashboard.open('/settings/audit', { as: null })
    const link = page.getByRole('link', { name: 'Sign in with Example' })
    await link.waitFor()
    await page.getByLabel('Password', { exact: true }).waitFor()
    await expectGoodLooks(page)
    const right = provider.people['grace']!
    provider.people['grace'] = { ...right, groups: ['guests'] }
    await link.click()
    await page.getByRole('heading', { level: 1, name: 'No access' }).waitFor()
    await page
      .getByRole('alert')
      .getByText('grace@example.com has no role on this gateway')
      .waitFor()
    await expectGoodLooks(page)
    provider.people['grace'] = right
    await page.getByRole('link', { name: 'Back to the sign-in page' }).click()
    await page.goto(`${dashboard.gateway.url}/dashboard/settings/audit`)
    await link.click()
    await page.waitForURL(/\/dashboard\/settings\/audit$/)
    await page.getByText('Grace Hopper').first().waitFor()
    await expectGoodLooks(page)
  })

  it('shows no form for passwords once an owner has signed in so', async () => {
    const page = await dashboard.open('', { as: null })
    await page.getByRole('link', { name: 'Sign in with Example' }).waitFor()
    await page.getByLabel('Password', { exact: true }).waitFor({ state: 'detached' })
    await expectGoodLooks(page)
    const { link } = await dashboard.gateway.people.invite('eve@example.com')
    await page.goto(link.replace(/^[^/]*\/\/[^/]*/, dashboard.gateway.url))
    await page.getByText('open the link of the invitation again').waitFor()
    await expectGoodLooks(page)
  })

  it('shows passkeys that exist, which can only be removed', async () => {
    const { gateway, open } = dashboard
    const { personId, ...person } = await gateway.people.signIn()
    const page = await open('/you', { as: person })
    await page.getByRole('heading', { name: 'Password' }).waitFor()
    await page.getByRole('region', { name: 'Sessions' }).waitFor()
    await expectCount(page.getByRole('heading', { name: 'Passkeys' }), 0)
    const times = { created_at: Date.now(), last_used_at: null }
    const key = { credential_id: 'AAAA', public_key: Buffer.alloc(1), counter: 0 }
    const row = { id: 'psk_a', person_id: personId, name: 'Laptop', ...key, ...times }
    await gateway.db.insertInto('passkeys').values(row).execute()
    await page.reload()
    await page.getByText('Sign-in with passwords and passkeys is switched off').waitFor()
    await expectGoodLooks(page)
    await expectCount(page.getByRole('button', { name: 'Add a passkey…' }), 0)
    await page.getByRole('button', { name: 'Remove Laptop…' }).click()
    await page.getByRole('button', { name: 'Remove the passkey' }).click()
    await page.getByRole('heading', { name: 'Passkeys' }).waitFor({ state: 'detached' })
  })
})
