import { expect } from 'chai'
import { storeConnection } from '../support/connections.ts'
import { expectCount, expectGoodLooks, useDashboard } from '../support/dashboard.ts'
import { suiteClock } from '../support/gateway.ts'
import { usageRow } from '../support/usage-row.ts'

describe('the applications page', () => {
  const dashboard = useDashboard()

  it('explains how to connect an application while the list is empty', async () => {
    const page = await dashboard.open('/applications')
    await page.getByRole('heading', { name: 'No connected applications yet' }).waitFor()
    await page.getByText('No services yet. For most programs an API key is enough.').waitFor()
    await expectGoodLooks(page)
  })

  it('shows who allowed each application, and revokes it', async () => {
    const member = await dashboard.gateway.people.signIn({ role: 'member' })
    await storeConnection(dashboard.gateway, { createdBy: member.personId, name: 'Claude' })
    await storeConnection(dashboard.gateway, { createdBy: null, name: `<i>${'long'.repeat(20)}` })
    const page = await dashboard.open('/applications')
    await page.getByRole('row', { name: /Claude at claude\.ai Somebody/ }).waitFor()
    await expectGoodLooks(page)
    const own = await dashboard.open('/applications', { as: member })
    await own.getByRole('row', { name: /Claude at claude\.ai you/ }).waitFor()
    await expectCount(own.getByRole('row'), 2)
    expect(await own.getByRole('heading', { name: 'Services' }).count()).to.equal(0)
    await own.getByRole('button', { name: 'Revoke Claude' }).click()
    await own.getByText('allow it again').waitFor()
    await own.getByRole('button', { name: 'Revoke permanently' }).click()
    await own.getByText('Claude is revoked.').waitFor()
    await own.getByRole('row', { name: /Claude .*revoked/ }).waitFor()
    await expectGoodLooks(own)
  })

  it('shows the exact cost of each application, also when more than 100 keys cost more', async () => {
    const { gateway } = dashboard
    const session = await gateway.fetch('/api/sessions/current', { key: null, ...dashboard.owner })
    const { person } = (await session.json()) as {
      person: { memberships: { account_id: string }[] }
    }
    const accountId = person.memberships[0]!.account_id
    const id = await storeConnection(gateway, { name: 'Thrifty' })
    await storeConnection(gateway, { name: 'Idle' })
    const base = { account_id: accountId, mode: 'live' as const, cost_status: 'final' as const }
    const keys = [...Array.from({ length: 100 }, (_, index) => `key_${index}`), id]
    await gateway.addUsage(
      keys.map((key, index) => ({
        ...usageRow(`req_spent_${index}`, suiteClock()),
        ...base,
        key_id: key,
        cost_nano_usd: key === id ? 250_000_000 : 1_000_000_000,
      })),
    )
    const page = await dashboard.open('/you')
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => (release = resolve))
    await page.route('**/api/usage?*', async (route) => {
      await released
      await route.continue()
    })
    await page.getByRole('link', { name: 'Applications' }).click()
    const thrifty = page.getByRole('row', { name: /^Thrifty/ })
    await thrifty.getByText('loading').waitFor()
    expect(await page.getByText('$0.00').count()).to.equal(0)
    await expectGoodLooks(page)
    release()
    await thrifty.getByText('$0.25').waitFor()
    await page.getByRole('row', { name: /^Idle/ }).getByText('$0.00').waitFor()
  })

  it('creates services, shows each secret once, and rotates and revokes it', async () => {
    const page = await dashboard.open('/applications')
    const create = async () => {
      await page.getByRole('button', { name: 'Create a service…' }).click()
      await page.getByLabel('Name').fill('night job')
      await page.getByLabel('Mode').selectOption('test')
      await page.getByRole('button', { name: 'Create the service' }).click()
      await page.getByRole('heading', { name: 'Client secret' }).waitFor()
    }
    const credentials = async () => ({
      id: await page.getByRole('region', { name: 'the client id' }).innerText(),
      secret: await page.getByRole('region', { name: 'the client secret' }).innerText(),
    })
    const tokenFor = ({ id, secret }: { id: string; secret: string }) =>
      fetch(`${dashboard.gateway.url}/oauth/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` },
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
      }).then(({ status }) => status)
    await create()
    const first = await credentials()
    expect(await tokenFor(first)).to.equal(200)
    await expectGoodLooks(page)
    await page.getByRole('button', { name: 'All applications' }).click()
    await page.getByRole('button', { name: 'Rotate night job' }).click()
    await page.getByLabel('Both work for').selectOption('one hour')
    await page.getByRole('button', { name: 'Rotate', exact: true }).click()
    await page.getByRole('heading', { name: 'Client secret' }).waitFor()
    const second = await credentials()
    expect(second.id).to.equal(first.id)
    expect(second.secret).to.not.equal(first.secret)
    expect(await tokenFor(second)).to.equal(200)
    await page.getByRole('button', { name: 'All applications' }).click()
    const revoke = page.getByRole('button', { name: 'Revoke night job' })
    await revoke.first().waitFor()
    await expectGoodLooks(page)
    // Both services have the same name. The message about the second service must get the focus too.
    const said = page.locator('[role=status]:focus', { hasText: 'night job is revoked.' })
    const ended = page.getByRole('cell', { name: 'revoked', exact: true })
    for (const index of [0, 1]) {
      await revoke.first().click()
      await page.getByRole('button', { name: 'Revoke permanently' }).click()
      await ended.nth(index).waitFor()
      await said.waitFor()
    }
  })
})
