import { expect } from 'chai'
import { expectGoodLooks, useDashboard } from '../support/dashboard.ts'
import { startPublicHost, type PublicHost } from '../support/public-host.ts'

describe('the webhooks page', () => {
  let host: PublicHost
  const options = { publicNet: {}, bounds: { webhookLookMs: 20 } }
  before(async () => {
    host = await startPublicHost()
    // The gateway starts after it.
    Object.assign(options.publicNet, host.net)
  })
  after(() => host.stop())
  const dashboard = useDashboard(options)

  it('explains webhooks while there is none, and refuses an address inside', async () => {
    const page = await dashboard.open('/webhooks')
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor()
    await expectGoodLooks(page)
    await page.getByRole('button', { name: 'Create a webhook' }).click()
    await page.getByLabel('Name').fill('inside')
    await page.getByLabel('Address').fill(`https://10.0.0.1:${host.port}/hook`)
    await page.getByRole('button', { name: 'Create the webhook' }).click()
    await page.getByText('The address is not public.').first().waitFor()
    await expectGoodLooks(page)
  })

  it('creates one, shows its secret once, and tests, redelivers, rotates and deletes it', async () => {
    const statuses = [500, 200, 200]
    host.serve('/hook', (response) => response.writeHead(statuses.shift() ?? 200).end())
    const page = await dashboard.open('/webhooks')
    await page.getByRole('button', { name: 'Create a webhook' }).click()
    await page.getByLabel('Name').fill('shop server')
    await page.getByLabel('Address').fill(host.address('/hook'))
    await page.getByRole('button', { name: 'Create the webhook' }).click()
    await page.getByText('It is shown only once.').waitFor()
    const secret = await page.getByRole('region', { name: 'the secret' }).textContent()
    expect(secret).to.match(/^whsec_/)
    await expectGoodLooks(page)
    await page.getByRole('button', { name: 'About this webhook' }).click()
    await page.getByText('No deliveries in the last 30 days.').waitFor()
    await page.getByRole('button', { name: 'Send a test event' }).click()
    await page.getByText('The receiver answered 500.').waitFor()
    await page.getByRole('row', { name: /webhook\.test .* failed/ }).waitFor()
    await expectGoodLooks(page)
    await page.getByRole('button', { name: 'Send a test event' }).click()
    await page.getByRole('row', { name: /webhook\.test .* delivered/ }).waitFor()
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByText('The webhook is disabled.').waitFor()
    await page.getByRole('button', { name: 'Enable' }).click()
    await page.getByText('The webhook is enabled.').waitFor()
    await page.getByRole('button', { name: 'Rotate the secret…' }).click()
    await page.getByRole('button', { name: 'Rotate', exact: true }).click()
    await page.getByText('For 24 hours each request').waitFor()
    const next = await page.getByRole('region', { name: 'the secret' }).textContent()
    expect(next)
      .to.match(/^whsec_/)
      .and.not.equal(secret)
    await page.getByRole('button', { name: 'About this webhook' }).click()
    await page.getByText('also signs until').waitFor()
    await page.getByRole('button', { name: 'Delete…' }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor()
  })
})
