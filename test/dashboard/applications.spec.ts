import { expect } from 'chai'
import { expectGoodLooks, useDashboard } from '../support/dashboard.ts'
import { storeConnection } from '../support/connections.ts'

describe('the applications of the dashboard', () => {
  const dashboard = useDashboard()

  it('teach how one is connected where there are none', async () => {
    const page = await dashboard.open('/applications')
    await page.getByText('Nobody has connected an application yet.').waitFor()
    await page.getByText('There are none. Most programs do well with an API key.').waitFor()
    await expectGoodLooks(page)
  })

  it('are told with who said yes, and revoked', async () => {
    const member = await dashboard.gateway.people.signIn({ role: 'member' })
    await storeConnection(dashboard.gateway, { createdBy: member.personId, name: 'Claude' })
    await storeConnection(dashboard.gateway, { createdBy: null, name: `<i>${'long'.repeat(20)}` })
    const page = await dashboard.open('/applications')
    await page.getByRole('row', { name: /Claude at claude\.ai Somebody/ }).waitFor()
    await expectGoodLooks(page)
    const own = await dashboard.open('/applications', { as: member })
    await own.getByRole('row', { name: /Claude at claude\.ai you/ }).waitFor()
    expect(await own.getByRole('row').count()).to.equal(2)
    expect(await own.getByRole('heading', { name: 'Services' }).count()).to.equal(0)
    await own.getByRole('button', { name: 'Revoke Claude' }).click()
    await own.getByText('says yes once more').waitFor()
    await own.getByRole('button', { name: 'Revoke for good' }).click()
    await own.getByText('Claude is revoked.').waitFor()
    await own.getByRole('row', { name: /Claude .*revoked/ }).waitFor()
    await expectGoodLooks(own)
  })

  it('include services, whose secret is shown once, works, is rotated and revoked', async () => {
    const page = await dashboard.open('/applications')
    const create = async () => {
      await page.getByRole('button', { name: 'Create a service…' }).click()
      await page.getByLabel('Name').fill('night job')
      await page.getByLabel('Mode').selectOption('test')
      await page.getByRole('button', { name: 'Create the service' }).click()
      await page.getByRole('heading', { name: 'Its id and secret' }).waitFor()
    }
    const told = async () => ({
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
    const first = await told()
    expect(await tokenFor(first)).to.equal(200)
    await expectGoodLooks(page)
    await page.getByRole('button', { name: 'All applications' }).click()
    await page.getByRole('button', { name: 'Rotate night job' }).click()
    await page.getByLabel('Both work for').selectOption('one hour')
    await page.getByRole('button', { name: 'Rotate', exact: true }).click()
    await page.getByRole('heading', { name: 'Its id and secret' }).waitFor()
    const second = await told()
    expect(second.id).to.equal(first.id)
    expect(second.secret).to.not.equal(first.secret)
    expect(await tokenFor(second)).to.equal(200)
    await page.getByRole('button', { name: 'All applications' }).click()
    const revoke = page.getByRole('button', { name: 'Revoke night job' })
    await revoke.first().waitFor()
    await expectGoodLooks(page)
    await revoke.first().click()
    await page.getByRole('button', { name: 'Revoke for good' }).click()
    await page.getByText('night job is revoked.').waitFor()
  })
})
